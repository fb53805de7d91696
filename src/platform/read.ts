// Reads a platform file: YAML, references, schema, rules. All faults are shown at once, each as
// `file:line:col: /pointer message`. A file with a fault is not returned. No message contains a value that could be a
// secret.

import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'
import type { Fault, Roots } from '../domain/channel-rules.ts'
import { messageOf, NodeError, systemCode } from '../errors.ts'
import { resolveReferences } from './references.ts'
import type { Env } from './references.ts'
import { NOTHING_KNOWN, platformFindings } from './rules.ts'
import type { Known } from './rules.ts'
import { salvage } from './salvage.ts'
import { isPlatform, schemaFaults } from './schema-faults.ts'
import type { SchemaFault } from './schema-faults.ts'
import type { Platform } from '../contract/administration/platform-file.ts'
import { parseYaml } from './yaml-source.ts'
import type { YamlSource } from './yaml-source.ts'

export type ReadOptions = {
  /** Where { env } looks; undefined: a file from elsewhere, which may refer to nothing on this machine. */
  env: Env | undefined
  roots: Roots
  /** What the database has beside the file. */
  known?: Known | undefined
  /** Only checks: a secret that cannot be read here is a warning, and the result must not be applied. */
  checkOnly?: boolean | undefined
}

export type PlatformSource = {
  platform: Platform
  warnings: string[]
  /** `file:line:col: /pointer message`, for whoever finds a fault later. */
  show(fault: Fault): string
}

export function readPlatform(file: string, options: ReadOptions): PlatformSource {
  return readPlatformText(readText(file), file, options)
}

/** `file` is how the text is called in messages, and where its references look. */
export function readPlatformText(text: string, file: string, options: ReadOptions): PlatformSource {
  const source = parseYaml(text)
  if (source.faults.length > 0)
    throw refused(
      file,
      source.faults.map(({ offset, message }) => `${file}:${source.position(offset)}: ${message}`),
    )
  const value = source.value ?? {}
  const { unread, wrong } = resolveReferences(value, file, options.env)
  const show = showing(file, source)
  const broken = [...wrong, ...(options.checkOnly ? [] : unread), ...schemaFaults(value)]
  if (!isPlatform(value))
    throw refused(file, inOrder(source, [...broken, ...otherFaults(value, broken, options)]).map(show))
  const { faults, warnings } = platformFindings(value, options.roots, options.known ?? NOTHING_KNOWN)
  const all = inOrder(source, [...broken, ...faults])
  if (all.length > 0) throw refused(file, all.map(show))
  const notes = inOrder(source, [...(options.checkOnly ? unread : []), ...warnings])
  return { platform: value, warnings: notes.map(show), show }
}

/** What the rules say of the part whose shape is right. */
function otherFaults(value: unknown, broken: SchemaFault[], options: ReadOptions): Fault[] {
  const sound = salvage(value, broken, options.known)
  if (!sound) return []
  const { faults } = platformFindings(sound.platform, options.roots, sound.known)
  const placed = faults.map(({ pointer, message }) => ({ pointer: sound.inFile(pointer), message }))
  // A rule may only complain because something was taken out.
  return placed.filter(
    ({ pointer }) => !broken.some((fault) => `${fault.pointer}/`.startsWith(`${pointer}/`)),
  )
}

function readText(file: string): string {
  const octets = readOctets(file)
  if (isUtf8(octets)) return octets.toString()
  // Other alphabets would be read with signs for "unknown" in them, and kept so.
  const lines = octets.toString('latin1').split('\n')
  const wrong = lines.findIndex((line) => !isUtf8(Buffer.from(line, 'latin1')))
  const column =
    Buffer.from(lines[wrong] ?? '', 'latin1')
      .toString()
      .indexOf('\ufffd') + 1
  throw refused(file, [`${file}:${wrong + 1}:${column}: this is not UTF-8: save the file in UTF-8`])
}

function readOctets(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (thrown) {
    throw new NodeError('bad_use', `${file} cannot be read (${systemCode(thrown) ?? messageOf(thrown)})`, {
      cause: thrown,
    })
  }
}

function showing(file: string, source: YamlSource) {
  return ({ pointer, message, onKey }: SchemaFault) =>
    `${file}:${source.position(source.offsetOf(pointer, onKey))}: ${pointer || 'the file'} ${message}`
}

function inOrder(source: YamlSource, faults: SchemaFault[]): SchemaFault[] {
  const placed = faults.map((fault) => ({ fault, offset: source.offsetOf(fault.pointer, fault.onKey) }))
  return placed.sort((a, b) => a.offset - b.offset).map(({ fault }) => fault)
}

export function refused(file: string, lines: readonly string[]): NodeError {
  const count = lines.length === 1 ? 'one fault' : `${lines.length} faults`
  return new NodeError('bad_use', `${file} has ${count}:\n${lines.join('\n')}`)
}
