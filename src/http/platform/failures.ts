// Failed transfers across channels, and whether each can be retried: what the retry operation would answer, as far as
// that is known without looking at the files.

import type { FailedTransfer, RetryAnswer } from '../../contract/platform.ts'
import { closedBecause } from '../../domain/channel.ts'
import { showTime } from '../../domain/time.ts'
import { HOUR_MS } from '../../store/transfers/transfer-stats.ts'
import { retriableOf } from '../../store/transfers/failures.ts'
import { batches } from '../../store/database/batches.ts'
import { failuresSince, reasonsOf } from '../../store/overview.ts'
import type { Failure } from '../../store/overview.ts'
import { namesOf } from '../../store/transfers/file-names.ts'
import { firstNames } from '../../store/transfers/transfer-summaries.ts'
import { wordsOf } from '../words.ts'
import { matcher } from './channel-board.ts'
import type { Board } from './channel-board.ts'
import type { Context } from '../context.ts'

export const DAY_HOURS = 24
const NAMES_SHOWN = 3

/** The first of that many hours of the clock, this one included: as the overview's chart counts. */
export function firstHour(now: number, hours = DAY_HOURS): number {
  return Math.floor(now / HOUR_MS) - hours + 1
}

type Wanted = { hours?: number; search?: string; contactId?: string }

/** Ids, newest first. */
export async function visibleFailures(
  context: Context,
  board: Board,
  { hours, search, contactId }: Wanted,
): Promise<string[]> {
  const matches = matcher({ contactId })
  const some = await failuresSince(
    context.store.db,
    firstHour(context.now(), hours) * HOUR_MS,
    (code) => board.reaches(code) && matches(board.catalogue.channels.get(code)),
  )
  const found = search === undefined ? some : await withWords(context, board, some, wordsOf(search))
  return found.map(({ id }) => id)
}

type Failed = { id: string; channelCode: string }

/** Each word may occur in the channel, in the reason or in a file's name. */
async function withWords(
  context: Context,
  board: Board,
  all: readonly Failed[],
  words: readonly string[],
): Promise<Failed[]> {
  const found: Failed[] = []
  for (const some of batches(all)) {
    const left = new Map(some.map((one) => [one.id, missing(words, textOf(board, one))]))
    const asked = some.map(({ id }) => id).filter((id) => left.get(id)?.length)
    const reasons = asked.length > 0 ? await reasonsOf(context.store.db, asked) : new Map<string, string>()
    const names = asked.length > 0 ? await namesOf(context.store.db, asked) : new Map<string, string[]>()
    const fits = ({ id }: Failed) => {
      const text = [reasons.get(id) ?? '', ...(names.get(id) ?? [])].join('\n').toLowerCase()
      return missing(left.get(id) ?? [], text).length === 0
    }
    found.push(...some.filter(fits))
  }
  return found
}

function textOf(board: Board, { channelCode }: Failed): string {
  return board.catalogue.channels.get(channelCode)?.text ?? ''
}

function missing(words: readonly string[], text: string): string[] {
  return words.filter((word) => !text.includes(word))
}

export async function failuresToWire(
  context: Context,
  board: Board,
  failures: readonly Failure[],
): Promise<FailedTransfer[]> {
  const codes = failures.map(({ channelCode }) => channelCode)
  const next = await retriableOf(context.store.db, codes)
  const ids = failures.map(({ id }) => id)
  const names =
    ids.length > 0 ? await firstNames(context.store.db, ids, NAMES_SHOWN) : new Map<string, string[]>()
  return failures.map((failure) => ({
    ...toWire(context, board, failure, next.get(failure.channelCode)),
    fileNames: names.get(failure.id) ?? [],
  }))
}

function toWire(
  context: Context,
  board: Board,
  failure: Failure,
  next: string | undefined,
): Omit<FailedTransfer, 'fileNames'> {
  return {
    transferId: failure.id,
    ...channelOf(board, failure.channelCode),
    direction: failure.direction,
    type: failure.type,
    endedAt: showTime(failure.endedAt, context.zone),
    ...(failure.error !== null && { error: failure.error }),
    ...(failure.errorCode !== null && { errorCode: failure.errorCode }),
    retry: retryAnswer(board, failure, next),
  }
}

export function retryAnswer(
  board: Board,
  failed: Pick<Failure, 'id' | 'channelCode' | 'direction' | 'type' | 'settled'>,
  /** The failure of its channel that a retry would take. */
  next: string | undefined,
): RetryAnswer {
  if (failed.settled) return 'HANDLED'
  if (failed.direction === 'RECEPCION' && failed.type === 'REMOTE') return 'PARTNER'
  if (next !== failed.id) return 'SUPERSEDED'
  const { channelCode, direction } = failed
  if (board.active.some((one) => one.channelCode === channelCode && one.direction === direction))
    return 'BUSY'
  const config = board.catalogue.channels.get(channelCode)?.config ?? {}
  return closedBecause(config, direction) === undefined ? 'POSSIBLE' : 'CLOSED'
}

export function channelOf(board: Board, code: string): { channelCode: string; channelName?: string } {
  const name = board.catalogue.channels.get(code)?.config.name
  return { channelCode: code, ...(name !== undefined && { channelName: name }) }
}
