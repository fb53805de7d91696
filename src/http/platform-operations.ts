// The read-only operations for consoles. They show nothing that the interface would not show the same user: channels
// open to the user alone, transfers to the roles that may read transfers, partners to those with contactChannels.

import { makePage } from '../contract/page.ts'
import type {
  ActiveTransfer,
  FailedTransfer,
  Overview,
  RetryAnswer,
  UnreachablePartner,
} from '../contract/platform.ts'
import type { PlatformInputOf, PlatformOperationName, PlatformOutputOf } from '../contract/platform.ts'
import { closedBecause } from '../domain/channel.ts'
import { showTime } from '../domain/time.ts'
import { PARKED } from '../domain/transfer.ts'
import type { TransferRecord } from '../domain/transfer.ts'
import { NodeError } from '../errors.ts'
import type { Account } from '../store/accounts.ts'
import type { View } from '../store/directory.ts'
import { HOUR_MS } from '../store/ended.ts'
import {
  describeActive,
  describeFailures,
  failuresSince,
  moreOfTransfer,
  partnersDown,
  sumHour,
} from '../store/overview.ts'
import type { ActiveRow, Failure, HourSums } from '../store/overview.ts'
import { findTransfer } from '../store/transfers.ts'
import { makeBoards, matcher } from './channel-board.ts'
import type { Board } from './channel-board.ts'
import type { Call, Context } from './context.ts'
import { reachChannel } from './guard.ts'
import { askedPage } from './paging.ts'

export type PlatformCall<N extends PlatformOperationName> = Pick<Call<'listChannels'>, 'user' | 'request'> & {
  input: PlatformInputOf<N>
}
export type PlatformHandler<N extends PlatformOperationName> = (
  context: Context,
  call: PlatformCall<N>,
) => Promise<PlatformOutputOf<N>>
export type PlatformHandlers = { [N in PlatformOperationName]: PlatformHandler<N> }

/** One set per server: it keeps what is known of channels between requests. */
export function makePlatformHandlers(): PlatformHandlers {
  const boardOf = makeBoards()
  const hoursOf = makeHours()
  return {
    session,
    overview: async (context, { user }) => overview(context, user, await boardOf(context, user), hoursOf),
    searchChannels: async (context, { input, user }) => {
      const { page: _page, size: _size, ...filter } = input
      const asked = askedPage(context, input)
      const board = await boardOf(context, user)
      const codes = board.find(filter)
      const some = codes.slice(asked.offset, asked.offset + asked.size)
      return makePage(
        some.flatMap((code) => summaryOf(board, code)),
        codes.length,
        asked,
      )
    },
    channelFilters: async (context, { user }) => filtersOf(await boardOf(context, user)),
    failedTransfers: async (context, { input, user }) => {
      const asked = askedPage(context, input)
      const board = await boardOf(context, user)
      const ids = await visibleFailures(context, board, input)
      const some = await describeFailures(
        context.store.db,
        ids.slice(asked.offset, asked.offset + asked.size),
      )
      return makePage(
        some.map((failure) => failureToWire(context, board, failure)),
        ids.length,
        asked,
      )
    },
    transferFacts: async (context, { input, user }) => {
      const channel = await reachChannel(context, user, input.channelCode)
      const transfer = await findTransfer(context.store.db, input.transferId)
      if (transfer?.channelCode !== channel.code)
        throw new NodeError('not_found', `channel ${channel.code} has no transfer ${input.transferId}`)
      return factsOf(context, await boardOf(context, user), transfer)
    },
  }
}

const session: PlatformHandler<'session'> = (context, { user, request }) => {
  const now = context.now()
  const token = /^bearer +(\S+)/i.exec(request.headers.authorization ?? '')?.[1] ?? ''
  const { username, name, lastName, email, role, language, auths } = user
  return Promise.resolve({
    username,
    ...(name !== undefined && { name }),
    ...(lastName !== undefined && { lastName }),
    email,
    role,
    language,
    auths,
    expiresAt: showTime(context.tokens.read(token, now).exp * 1000, context.zone),
    now: showTime(now, context.zone),
    timeZone: context.zone.name,
  })
}

// The overview

const DAY_HOURS = 24
const ACTIVE_SHOWN = 50
const FAILURES_SHOWN = 10
/** As many as make the engine stop calling. */
const FAILURES_TO_BE_DOWN = 3

async function overview(context: Context, user: Account, board: Board, hoursOf: Hours): Promise<Overview> {
  const { db } = context.store
  const channels = { total: board.view.codes.length, byStatus: board.counts() }
  const partners = user.auths.contactChannels ? await unreachable(context, board) : undefined
  if (user.role === 'ROLE_CONTROLATOR') return { channels, ...(partners && { partners }) }
  const moving = board.active.filter((one) => one.state === 'IN_PROGRESS')
  const waiting = board.active.filter((one) => one.state === 'PENDING')
  const shown = await describeActive(db, [...moving, ...waiting].slice(0, ACTIVE_SHOWN))
  const failed = await visibleFailures(context, board, { hours: DAY_HOURS })
  const failures = await describeFailures(db, failed.slice(0, FAILURES_SHOWN))
  return {
    channels,
    active: {
      pending: waiting.length,
      inProgress: moving.length,
      transfers: shown.map((row) => activeToWire(context, board, row)),
    },
    hours: await hoursOf(context, board),
    failures: { total: failed.length, transfers: failures.map((one) => failureToWire(context, board, one)) },
    ...(partners && { partners }),
  }
}

type Hours = (context: Context, board: Board) => Promise<NonNullable<Overview['hours']>>

const LATE_MS = 5 * 60_000

/** Hours that are over stay as they are, but for a commit that was just under way: kept per view once that is past. */
function makeHours(): Hours {
  const kept = new WeakMap<View, Map<number, HourSums>>()
  return async (context, board) => {
    const now = context.now()
    const current = Math.floor(now / HOUR_MS)
    let known = kept.get(board.view)
    if (!known) kept.set(board.view, (known = new Map()))
    for (const hour of known.keys()) if (hour <= current - DAY_HOURS) known.delete(hour)
    const hours: NonNullable<Overview['hours']> = []
    for (let hour = current - DAY_HOURS + 1; hour <= current; hour++) {
      const sums = known.get(hour) ?? (await sumHour(context.store.db, hour, board.reaches))
      if (now > (hour + 1) * HOUR_MS + LATE_MS) known.set(hour, sums)
      hours.push({ from: showTime(hour * HOUR_MS, context.zone), ...sums })
    }
    return hours
  }
}

async function unreachable(context: Context, board: Board): Promise<UnreachablePartner[]> {
  const down = await partnersDown(context.store.db, FAILURES_TO_BE_DOWN)
  return down.map(({ contactId, failures, openUntil, error }) => {
    const name = board.catalogue.contactNames.get(contactId)
    return {
      contactId,
      ...(name !== undefined && { name }),
      failures,
      ...(openUntil > 0 && { nextCallAt: showTime(openUntil, context.zone) }),
      ...(error !== null && { error }),
      channels: board.view.codesByContact.get(contactId)?.length ?? 0,
    }
  })
}

function activeToWire(context: Context, board: Board, row: ActiveRow): ActiveTransfer {
  return {
    transferId: row.id,
    ...channelOf(board, row.channelCode),
    direction: row.direction,
    status: row.state,
    requestedAt: showTime(row.requestedAt, context.zone),
    ...(row.startedAt !== null && { startedAt: showTime(row.startedAt, context.zone) }),
    attempts: row.attempts,
    bytes: row.bytes,
    totalBytes: row.totalBytes,
    files: row.files,
    totalFiles: row.totalFiles,
  }
}

function channelOf(board: Board, code: string): { channelCode: string; channelName?: string } {
  const name = board.catalogue.channels.get(code)?.config.name
  return { channelCode: code, ...(name !== undefined && { channelName: name }) }
}

// Channels

function summaryOf(board: Board, code: string): PlatformOutputOf<'searchChannels'>['content'] {
  const facts = board.catalogue.channels.get(code)
  if (!facts) return []
  const { name, direction, category, localEntity, remoteEntity } = facts.config
  const shown = { name, direction, category, localEntity, remoteEntity, contactName: facts.contactName }
  // Fields without a value are left out by the serialiser.
  return [{ code, contactId: facts.contactId, status: board.statusOf(code), ...shown }]
}

function filtersOf({ view, catalogue }: Board): PlatformOutputOf<'channelFilters'> {
  const categories = new Set<string>()
  for (const code of view.codes) {
    const category = catalogue.channels.get(code)?.config.category
    if (category) categories.add(category)
  }
  const contacts = [...view.codesByContact.keys()].map((id) => {
    const name = catalogue.contactNames.get(id)
    return { id, ...(name !== undefined && { name }) }
  })
  contacts.sort((a, b) => (a.name ?? a.id).localeCompare(b.name ?? b.id))
  return { categories: [...categories].sort(), contacts }
}

// Failures

type Wanted = { hours?: number; search?: string; contactId?: string }

/** Ids, newest first. */
async function visibleFailures(
  context: Context,
  board: Board,
  { hours, search, contactId }: Wanted,
): Promise<string[]> {
  const all = await failuresSince(context.store.db, context.now() - (hours ?? DAY_HOURS) * HOUR_MS)
  const matches = matcher({ search, contactId })
  const some = all.filter(
    ({ channelCode }) => board.reaches(channelCode) && matches(board.catalogue.channels.get(channelCode)),
  )
  return some.map(({ id }) => id)
}

function failureToWire(context: Context, board: Board, failure: Failure): FailedTransfer {
  return {
    transferId: failure.id,
    ...channelOf(board, failure.channelCode),
    direction: failure.direction,
    type: failure.type,
    endedAt: showTime(failure.endedAt, context.zone),
    ...(failure.error !== null && { error: failure.error }),
    ...(failure.errorCode !== null && { errorCode: failure.errorCode }),
    retry: retryAnswer(board, failure),
  }
}

/** What the retry operation would say, as far as it can be known without looking at the files. */
function retryAnswer(
  board: Board,
  failed: Pick<Failure, 'id' | 'channelCode' | 'direction' | 'type' | 'settled'>,
): RetryAnswer {
  if (failed.settled) return 'HANDLED'
  if (board.errors.get(failed.channelCode) !== failed.id) return 'SUPERSEDED'
  if (failed.direction === 'RECEPCION' && failed.type === 'REMOTE') return 'PARTNER'
  const { channelCode, direction } = failed
  if (board.active.some((one) => one.channelCode === channelCode && one.direction === direction))
    return 'BUSY'
  const config = board.catalogue.channels.get(channelCode)?.config ?? {}
  return closedBecause(config, direction) === undefined ? 'POSSIBLE' : 'CLOSED'
}

async function factsOf(
  context: Context,
  board: Board,
  transfer: TransferRecord,
): Promise<PlatformOutputOf<'transferFacts'>> {
  const more = await moreOfTransfer(context.store.db, transfer.id)
  const waits = transfer.state === 'PENDING' && transfer.dueAt < PARKED
  return {
    transferId: transfer.id,
    channelCode: transfer.channelCode,
    requestedAt: showTime(transfer.requestedAt, context.zone),
    ...(more.requestedBy !== null && { requestedBy: more.requestedBy }),
    attempts: transfer.attempts,
    ...(waits && { nextAttemptAt: showTime(transfer.dueAt, context.zone) }),
    ...(more.errorCode !== null && { errorCode: more.errorCode }),
    ...(transfer.state === 'FAILED' && { retry: retryAnswer(board, transfer) }),
    ...(transfer.retryOf !== null && { retryOf: transfer.retryOf }),
    ...(more.retriedBy !== null && { retriedBy: more.retriedBy }),
    ...(more.output !== null && { output: more.output }),
    files: transfer.files.map((file) => ({
      fileName: file.name,
      ...(file.size !== null && { size: file.size }),
      position: file.position,
      phase: file.phase,
      receipt: file.receipt,
    })),
  }
}
