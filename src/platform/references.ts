// Secrets that are not in the file itself: { env: NAME } or { file: PATH } is replaced by what it names. A relative
// path starts at the platform file. Messages never contain what was read.

import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { messageOf, systemCode } from '../errors.ts'
import type { Fault } from '../domain/channel-rules.ts'
import { REFERENCE_PLACES } from '../contract/administration/platform-file.ts'
import { isObject } from '../json.ts'
import type { JsonObject } from '../json.ts'

export type Env = Record<string, string | undefined>

/** Stands for a secret that could not be read here; nothing is said about such a value itself. */
export const UNREAD = '\u0001 secret that was not read'

type Read = { text: string } | { unread: string } | { wrong: string }

/**
 * Replaces the references in `value` itself; what has no text becomes UNREAD. `unread` may be there on another machine,
 * `wrong` is not right on any.
 */
export function resolveReferences(
  value: unknown,
  file: string,
  env: Env | undefined,
): { unread: Fault[]; wrong: Fault[] } {
  const faults = { unread: [] as Fault[], wrong: [] as Fault[] }
  for (const place of REFERENCE_PLACES) {
    for (const { holder, key, pointer } of holdersAt(value, place.split('/').slice(1), '')) {
      const reference = holder[key]
      if (!isObject(reference)) continue
      const read = env ? readReference(reference, dirname(file), env) : ELSEWHERE
      if ('unread' in read) faults.unread.push({ pointer, message: read.unread })
      if ('wrong' in read) faults.wrong.push({ pointer, message: read.wrong })
      holder[key] = 'text' in read ? read.text : UNREAD
    }
  }
  return faults
}

const ELSEWHERE: Read = {
  wrong: 'must be text here: { env } and { file } are for the command line on the node’s machine',
}

function* holdersAt(
  value: unknown,
  steps: string[],
  pointer: string,
): Generator<{ holder: JsonObject; key: string; pointer: string }> {
  const [step = '', ...rest] = steps
  if (step === '*') {
    if (!Array.isArray(value)) return
    // An item that is itself the reference is replaced in its list.
    const list = value as unknown as JsonObject
    for (const [index, item] of value.entries())
      if (rest.length === 0) yield { holder: list, key: String(index), pointer: `${pointer}/${index}` }
      else yield* holdersAt(item, rest, `${pointer}/${index}`)
  } else if (isObject(value)) {
    if (rest.length === 0) yield { holder: value, key: step, pointer: `${pointer}/${step}` }
    else yield* holdersAt(value[step], rest, `${pointer}/${step}`)
  }
}

function readReference(reference: JsonObject, folder: string, env: Env): Read {
  const { env: name, file } = reference
  const [only, ...more] = Object.keys(reference)
  if (more.length > 0 || (typeof name !== 'string' && typeof file !== 'string'))
    return {
      wrong: `must be text, { env: NAME } or { file: PATH }${only === undefined ? ', not empty' : ''}`,
    }
  if (typeof name === 'string') {
    const text = env[name]
    return text ? { text } : { unread: `the environment variable ${name} is not set` }
  }
  return readSecretFile(resolve(folder, String(file)))
}

function readSecretFile(path: string): Read {
  try {
    const octets = readFileSync(path)
    return isUtf8(octets)
      ? { text: octets.toString().replace(/\r?\n$/, '') }
      : { wrong: `${path} holds no text in UTF-8: keys must be PEM, and passwords saved in UTF-8` }
  } catch (thrown) {
    return { unread: `${path} cannot be read (${systemCode(thrown) ?? messageOf(thrown)})` }
  }
}
