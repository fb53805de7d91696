// Looks for transfers of all channels. What an index knows leads: a hash, the beginning of a file name that few files
// have, a few channels, else state, direction and type. The rest is looked at transfer by transfer, so many at a time:
// a search costs the same however many there are, and says how far back it got.

import { matchesWildcard } from '../../domain/names/wildcard.ts'
import type { Db } from '../database/store.ts'
import { namesOf, transfersWithHash, transfersWithName } from './file-names.ts'
import { FEW_CHANNELS, listedById, walkTransfers } from './transfer-walk.ts'
import type { Listed, Order, Ranges } from './transfer-walk.ts'

export type TransferFilter = Omit<Ranges, 'codes'> & {
  /** Only these channels. */
  codes?: ReadonlySet<string> | undefined
  /** Lower-case hex. */
  hash?: string | undefined
  fileName?: NamePattern | undefined
}

export type NamePattern = {
  fits(name: string): boolean
  /** What every fitting name begins with; '' where that can be anything. */
  beginning: string
}

/** `*` is any text and `?` any one character, and then the whole name must fit; without either the name must contain it. */
export function namePattern(text: string): NamePattern {
  const lower = text.normalize('NFC').toLowerCase()
  const shown = (name: string) => name.normalize('NFC').toLowerCase()
  if (!/[*?]/.test(lower)) return { beginning: '', fits: (name) => shown(name).includes(lower) }
  return { beginning: lower.replace(/[*?].*$/s, ''), fits: (name) => matchesWildcard(lower, shown(name)) }
}

/** A name that more files begin with is looked for along the time instead. */
const FEW_FILES = 2000
const MOST_WITH_HASH = 10_000
const MOST_LOOKED_AT = 20_000
const GROUP = 100
/** A shorter beginning narrows nothing. */
const SHORTEST = 2

export type Wanted = { order: Order; offset: number; size: number; ahead: number }

export type Found = {
  page: Listed[]
  /** All that fit, as far as was looked: the page, those before it and some after it. */
  count: number
  /** There are more than were counted. */
  more: boolean
  /** Set where the search stopped early: what fits beyond this time was not looked for. */
  stoppedAt: number | undefined
}

export async function searchTransfers(db: Db, filter: TransferFilter, wanted: Wanted): Promise<Found> {
  const page: Listed[] = []
  const enough = wanted.offset + wanted.size + wanted.ahead
  let count = 0
  let lookedAt = 0
  let last: Listed | undefined
  for await (const group of matches(db, filter, wanted.order)) {
    lookedAt += group.cost
    last = group.last
    for (const one of group.fitting) {
      if (count === enough) return { page, count, more: true, stoppedAt: undefined }
      if (count >= wanted.offset && page.length < wanted.size) page.push(one)
      count++
    }
    if (lookedAt >= MOST_LOOKED_AT) return { page, count, more: true, stoppedAt: last?.listedAt }
  }
  return { page, count, more: false, stoppedAt: undefined }
}

/** All of them, a group at a time: for files that are made of them. */
export async function* everyTransfer(db: Db, filter: TransferFilter, order: Order): AsyncGenerator<Listed[]> {
  for await (const { fitting } of matches(db, filter, order)) if (fitting.length > 0) yield fitting
}

type Group = { fitting: Listed[]; last: Listed | undefined; cost: number }

async function* matches(db: Db, filter: TransferFilter, order: Order): AsyncGenerator<Group> {
  let group: Listed[] = []
  for await (const one of await candidates(db, filter, order)) {
    group.push(one)
    if (group.length < GROUP) continue
    yield await sift(db, filter, group)
    group = []
  }
  if (group.length > 0) yield await sift(db, filter, group)
}

async function candidates(db: Db, filter: TransferFilter, order: Order): Promise<AsyncIterable<Listed>> {
  const ids = await idsOf(db, filter)
  if (ids) return byId(db, ids, order)
  const { codes } = filter
  const few = codes && codes.size <= FEW_CHANNELS ? [...codes] : undefined
  return walkTransfers(db, { ...filter, codes: few }, order)
}

async function idsOf(db: Db, { hash, fileName }: TransferFilter): Promise<string[] | undefined> {
  if (hash !== undefined) return transfersWithHash(db, hash, MOST_WITH_HASH)
  if (!fileName || fileName.beginning.length < SHORTEST) return undefined
  const ids = await transfersWithName(db, fileName.beginning, FEW_FILES + 1)
  return ids.length > FEW_FILES ? undefined : ids
}

/** Ids begin with the time of the request: close enough to the order of lists, and nothing need be read to sort them. */
async function* byId(db: Db, ids: readonly string[], order: Order): AsyncGenerator<Listed> {
  const sorted = [...new Set(ids)].sort()
  if (order === 'newest') sorted.reverse()
  for (let at = 0; at < sorted.length; at += GROUP) {
    const some = sorted.slice(at, at + GROUP)
    const found = new Map((await listedById(db, some)).map((one) => [one.id, one]))
    for (const id of some) {
      const one = found.get(id)
      if (one) yield one
    }
  }
}

async function sift(db: Db, filter: TransferFilter, group: readonly Listed[]): Promise<Group> {
  const { states, directions, types, from, before, codes, fileName } = filter
  let fitting = group.filter(
    (one) =>
      (!states || states.includes(one.state)) &&
      (!directions || directions.includes(one.direction)) &&
      (!types || types.includes(one.type)) &&
      (from === undefined || one.listedAt >= from) &&
      (before === undefined || one.listedAt < before) &&
      (!codes || codes.has(one.channelCode)),
  )
  let cost = group.length
  if (fileName && fitting.length > 0) {
    const names = await namesOf(
      db,
      fitting.map(({ id }) => id),
    )
    for (const some of names.values()) cost += some.length
    fitting = fitting.filter(({ id }) => names.get(id)?.some((name) => fileName.fits(name)))
  }
  return { fitting, last: group.at(-1), cost }
}
