// Secrets that are not in the file itself: { env: NAME } or { file: PATH } is replaced by what it names. A relative
// path starts at the platform file. Messages never contain what was read.

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

/** Replaces the references in `value` itself; what cannot be read is a fault and becomes UNREAD. */
export function resolveReferences(value: unknown, file: string, env: Env | undefined): Fault[] {
  const faults: Fault[] = []
  for (const place of REFERENCE_PLACES) {
    for (const { holder, key, pointer } of holdersAt(value, place.split('/').slice(1), '')) {
      const reference = holder[key]
      if (!isObject(reference)) continue
      const read = env ? readReference(reference, dirname(file), env) : ELSEWHERE
      if ('fault' in read) faults.push({ pointer, message: read.fault })
      holder[key] = 'text' in read ? read.text : UNREAD
    }
  }
  return faults
}

const ELSEWHERE = {
  fault: 'must be text here: { env } and { file } are for the command line on the node’s machine',
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

function readReference(
  reference: JsonObject,
  folder: string,
  env: Env,
): { text: string } | { fault: string } {
  const { env: name, file } = reference
  const [only, ...more] = Object.keys(reference)
  if (more.length > 0 || (typeof name !== 'string' && typeof file !== 'string'))
    return {
      fault: `must be text, { env: NAME } or { file: PATH }${only === undefined ? ', not empty' : ''}`,
    }
  if (typeof name === 'string') {
    const text = env[name]
    return text ? { text } : { fault: `the environment variable ${name} is not set` }
  }
  return readSecretFile(resolve(folder, String(file)))
}

function readSecretFile(path: string): { text: string } | { fault: string } {
  try {
    return { text: readFileSync(path, 'utf8').replace(/\r?\n$/, '') }
  } catch (thrown) {
    return { fault: `${path} cannot be read (${systemCode(thrown) ?? messageOf(thrown)})` }
  }
}
