// The correct part of a platform file with faults. The rules are checked on it in the same run, so that a person sees
// all faults at once. What is wrong is taken out. What refers to it is taken out too, so that no fault is reported
// twice.

import type { Fault } from '../domain/channel-rules.ts'
import { NOTHING_KNOWN } from './rules.ts'
import type { Known } from './rules.ts'
import { isPlatform } from './schema-faults.ts'
import { Platform } from '../contract/administration/platform-file.ts'
import { isObject } from '../json.ts'
import type { JsonObject } from '../json.ts'

export type Salvaged = {
  platform: Platform
  known: Known
  /** From a pointer into the correct part to the pointer into the file. */
  inFile(pointer: string): string
}

const SECTIONS = Object.keys(Platform.properties)

export function salvage(
  value: unknown,
  faults: readonly Fault[],
  known: Known = NOTHING_KNOWN,
): Salvaged | undefined {
  if (!isObject(value)) return undefined
  const copy = structuredClone(value)
  for (const { pointer } of faults) takeOut(copy, pointer)
  const lost = lostNames(value, faults)
  const places: Record<string, number[]> = {}
  const platform: JsonObject = {}
  for (const section of SECTIONS) {
    const items = listOf(copy[section]).map((item, index) => ({ item, index }))
    const sound = items.filter(
      ({ item }) => isPlatform({ [section]: [item] }) && !refersTo(item, lost.contacts),
    )
    places[section] = sound.map(({ index }) => index)
    platform[section] = sound.map(({ item }) => item)
  }
  if (!isPlatform(platform)) return undefined
  return {
    platform,
    known: {
      ...known,
      entityCodes: new Set([...known.entityCodes, ...lost.entities]),
      calendars: new Set([...known.calendars, ...lost.calendars]),
      channels: new Map([
        ...known.channels,
        ...lost.channels.map((code): [string, undefined] => [code, undefined]),
      ]),
    },
    inFile: (pointer) =>
      pointer.replace(
        /^\/(\w+)\/(\d+)/,
        (_, section: string, at: string) => `/${section}/${places[section]?.[Number(at)]}`,
      ),
  }
}

/** The field that is wrong, or the whole list if one of its items is wrong. */
function takeOut(from: JsonObject, pointer: string): void {
  let holder: unknown = from
  let list: { holder: JsonObject; key: string } | undefined
  const steps = pointer.split('/').slice(1)
  const last = steps.pop() ?? ''
  for (const [depth, step] of steps.entries()) {
    // The lists of the sections themselves stay: only their items are looked at.
    if (isObject(holder) && Array.isArray(holder[step]) && depth > 0) list = { holder, key: step }
    holder = (holder as JsonObject | undefined)?.[step]
  }
  if (list) delete list.holder[list.key]
  else if (isObject(holder)) delete holder[last]
}

/** Names whose own description has a fault. Nothing can be said about what refers to them. */
function lostNames(value: JsonObject, faults: readonly Fault[]) {
  const faulty = (section: string, index: number) =>
    faults.some(({ pointer }) => `${pointer}/`.startsWith(`/${section}/${index}/`))
  const named = (section: string, key: string) =>
    listOf(value[section]).flatMap((item, index) => {
      const name = isObject(item) ? item[key] : undefined
      return typeof name === 'string' && faulty(section, index) ? [name] : []
    })
  return {
    entities: named('localEntities', 'code'),
    contacts: new Set(named('contacts', 'id')),
    calendars: named('calendars', 'id'),
    channels: named('channels', 'code'),
  }
}

function refersTo(item: unknown, contacts: ReadonlySet<string>): boolean {
  return isObject(item) && typeof item.contact === 'string' && contacts.has(item.contact)
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}
