// The status of every channel a user may reach, without a query per channel. What depends on configuration and clock
// (inactive, closed, idle) is computed once a minute and kept. What depends on transfers (moving, waiting, failed) is
// read at each request and put on top. So the cost grows with what is going on, not with the number of channels.

import type { ChannelStatusValue } from '../../contract/channel.ts'
import { CHANNEL_STATUSES } from '../../contract/channel.ts'
import { statusOf } from '../../domain/channel.ts'
import { makeCatalogue } from '../../store/catalogue.ts'
import type { Catalogue, ChannelFacts } from '../../store/catalogue.ts'
import type { Calendars } from '../../domain/calendar/working-days.ts'
import { hoursOfChannel, readCalendars } from '../../store/expectations/calendars.ts'
import type { Reaching, View } from '../../store/channel-access.ts'
import { transfersUnderWay } from '../../store/overview.ts'
import type { UnderWay } from '../../store/overview.ts'
import { channelsInError } from '../../store/transfers/failures.ts'
import type { Context } from '../context.ts'
import { wordsOf } from '../words.ts'

const MINUTE_MS = 60_000
const SEARCHES_KEPT = 50

export type ChannelFilter = {
  search?: string | undefined
  status?: ChannelStatusValue | undefined
  contactId?: string | undefined
  direction?: string | undefined
  category?: string | undefined
}

export type Counts = Record<ChannelStatusValue, number>

export type Board = {
  view: View
  catalogue: Catalogue
  active: readonly UnderWay[]
  reaches(code: string): boolean
  statusOf(code: string): ChannelStatusValue
  counts(): Counts
  /** Codes in order. */
  find(filter: ChannelFilter): readonly string[]
}

/** What stays the same for a minute. */
type Base = {
  catalogue: Catalogue
  calendars: Calendars
  minute: number
  statuses: ReadonlyMap<string, ChannelStatusValue>
  counts: Counts
  searches: Map<string, readonly string[]>
}

export type Boards = (context: Context, user: Reaching) => Promise<Board>

export function makeBoards(): Boards {
  const catalogueOf = makeCatalogue()
  const bases = new WeakMap<View, Base>()
  return async (context, user) => {
    const { db } = context.store
    const view = await context.channelAccess(db, user)
    const catalogue = await catalogueOf(db)
    const calendars = await readCalendars(db)
    const minute = Math.floor(context.now() / MINUTE_MS)
    let base = bases.get(view)
    if (base?.catalogue !== catalogue || base.calendars !== calendars || base.minute !== minute)
      bases.set(view, (base = makeBase(context, view, { catalogue, calendars, minute })))
    const active = (await transfersUnderWay(db)).filter((one) => base.statuses.has(one.channelCode))
    return makeBoard(view, base, active, await channelsInError(db))
  }
}

function makeBase({ zone }: Context, view: View, of: Pick<Base, 'catalogue' | 'calendars' | 'minute'>): Base {
  const statuses = new Map<string, ChannelStatusValue>()
  const counts = Object.fromEntries(CHANNEL_STATUSES.map((status) => [status, 0])) as Counts
  const still = { active: [], failed: false }
  for (const code of view.codes) {
    const facts = of.catalogue.channels.get(code)
    if (!facts) continue
    const at = { now: of.minute * MINUTE_MS, zone, hours: hoursOfChannel(facts) }
    const status = statusOf(facts.config, still, at)
    statuses.set(code, status)
    counts[status]++
  }
  return { ...of, statuses, counts, searches: new Map() }
}

function makeBoard(view: View, base: Base, active: readonly UnderWay[], failed: readonly string[]): Board {
  const over = new Map<string, ChannelStatusValue>()
  const lay = (code: string, status: ChannelStatusValue) => {
    const below = base.statuses.get(code)
    if (below !== undefined && below !== 'INACTIVE') over.set(code, status)
  }
  for (const code of failed) lay(code, 'ERROR')
  for (const one of active) if (one.state === 'PENDING') lay(one.channelCode, 'PENDING')
  for (const one of active) if (one.state === 'IN_PROGRESS') lay(one.channelCode, 'IN_PROGRESS')
  const status = (code: string) => over.get(code) ?? base.statuses.get(code) ?? 'IDLE'
  return {
    view,
    catalogue: base.catalogue,
    active,
    reaches: (code) => base.statuses.has(code),
    statusOf: status,
    counts: () => {
      const counts = { ...base.counts }
      for (const [code, value] of over) {
        counts[base.statuses.get(code) ?? 'IDLE']--
        counts[value]++
      }
      return counts
    },
    find: (filter) => {
      const { status: wanted, ...rest } = filter
      if (wanted === undefined) return search(view, base, rest)
      if (wanted === 'IN_PROGRESS' || wanted === 'PENDING' || wanted === 'ERROR') {
        const matches = matcher(rest)
        const codes = [...over].filter(
          ([code, value]) => value === wanted && matches(base.catalogue.channels.get(code)),
        )
        return codes.map(([code]) => code).sort()
      }
      return without(searchStill(view, base, rest, wanted), over)
    },
  }
}

const FEW = 100

/** A few codes are removed from a copy one by one, so that ten thousand are not compared because of three. */
function without(codes: readonly string[], gone: ReadonlyMap<string, unknown>): readonly string[] {
  if (gone.size > FEW) return codes.filter((code) => !gone.has(code))
  const left = [...codes]
  for (const code of gone.keys()) {
    const index = placeOf(left, code)
    if (left[index] === code) left.splice(index, 1)
  }
  return left
}

/** Binary search: codes are sorted. */
function placeOf(codes: readonly string[], code: string): number {
  let [low, high] = [0, codes.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((codes[middle] ?? '') < code) low = middle + 1
    else high = middle
  }
  return low
}

/** Results of a search by status that depend on configuration and clock only; kept for the same minute. */
function searchStill(
  view: View,
  base: Base,
  filter: ChannelFilter,
  wanted: ChannelStatusValue,
): readonly string[] {
  const key = `${wanted} ${JSON.stringify(filter)}`
  return kept(base, key, () =>
    search(view, base, filter).filter((code) => base.statuses.get(code) === wanted),
  )
}

/** The next page of a search does not search again. */
function search(view: View, base: Base, filter: ChannelFilter): readonly string[] {
  if (Object.values(filter).every((value) => value === undefined || value === '')) return view.codes
  return kept(base, JSON.stringify(filter), () => {
    const matches = matcher(filter)
    const from =
      filter.contactId === undefined ? view.codes : (view.codesByContact.get(filter.contactId) ?? [])
    return from.filter((code) => matches(base.catalogue.channels.get(code)))
  })
}

function kept(base: Base, key: string, find: () => readonly string[]): readonly string[] {
  const known = base.searches.get(key)
  if (known) return known
  const codes = find()
  if (base.searches.size >= SEARCHES_KEPT) base.searches.clear()
  base.searches.set(key, codes)
  return codes
}

export function matcher(filter: ChannelFilter): (facts: ChannelFacts | undefined) => boolean {
  const words = wordsOf(filter.search ?? '')
  return (facts) =>
    facts !== undefined &&
    (filter.contactId === undefined || facts.contactId === filter.contactId) &&
    (filter.direction === undefined || facts.config.direction === filter.direction) &&
    (filter.category === undefined || facts.config.category === filter.category) &&
    words.every((word) => facts.text.includes(word))
}
