// For tests alone: SFID of protected files, spelled out from RFC 5024, 5.3.3, and a partner that hands one over.

import { NODE_ID } from '../../oftp2/foreign-node.ts'
import type { Foreign } from '../../oftp2/foreign-node.ts'
import { dataOf, n, octets, text, x } from './foreign.ts'
import type { ForeignLine } from './foreign.ts'

export type Announced = {
  name: string
  /** SFIDSEC: 01 encrypted, 02 signed, 03 both. */
  security: '00' | '01' | '02' | '03'
  /** SFIDCIPH. */
  suite: string
  /** SFIDCOMP. */
  compressed?: boolean
}

let files = 0

/** SFID at level 2.0 of an unstructured file in an envelope, with its name as description. */
function sfidOf(foreign: Foreign, { name, security, suite, compressed = false }: Announced): Buffer {
  files += 1
  return octets(
    `H${x(`P${files}`, 26)}${x('', 3)}20261116${n(files, 10)}${x('FILES', 8)}${x(NODE_ID, 25)}${x(foreign.id, 25)}U00000`,
    `${n(2, 13)}${n(1, 13)}${n(0, 17)}${security}${suite}${compressed ? 1 : 0}1N${n(name.length, 3)}${name}`,
  )
}

/** Offers the file and hands it over if it is taken: the answer's command, and its reason where it is a refusal. */
export async function handOver(
  foreign: Foreign,
  line: ForeignLine,
  announced: Announced,
  content: Uint8Array,
): Promise<string> {
  line.say(sfidOf(foreign, announced))
  const offered = text((await line.hear()) ?? Buffer.alloc(0))
  if (!offered.startsWith('2')) return `SFNA ${offered.slice(1, 3)}`
  line.say(dataOf(content)).say(`T${n(0, 17)}${n(content.length, 17)}`)
  const answer = text((await line.hear()) ?? Buffer.alloc(0))
  return answer.startsWith('4') ? 'EFPA' : `EFNA ${answer.slice(1, 3)}`
}
