// Transfers of all channels that the user may reach, found and taken out.

import { Readable } from 'node:stream'
import { MOST_SEARCHED } from '../../contract/transfer-search.ts'
import type { TransferSummary } from '../../contract/transfer-search.ts'
import { csvLine } from '../../domain/csv.ts'
import { showTime } from '../../domain/time.ts'
import { NodeError } from '../../errors.ts'
import type { Account } from '../../store/accounts.ts'
import { namesOf } from '../../store/transfers/file-names.ts'
import { fileLines, firstNames, summariesOf } from '../../store/transfers/transfer-summaries.ts'
import type { SummaryRow } from '../../store/transfers/transfer-summaries.ts'
import { everyTransfer, namePattern, searchTransfers } from '../../store/transfers/transfer-search.ts'
import type { TransferFilter } from '../../store/transfers/transfer-search.ts'
import type { Listed } from '../../store/transfers/transfer-walk.ts'
import { actorOf } from '../actor.ts'
import type { Context } from '../context.ts'
import { reachChannel } from '../guard.ts'
import { spanOf } from '../integration/transfers.ts'
import type { Board } from './channel-board.ts'
import type { PlatformHandler, PlatformHandlers } from './handler.ts'
import { waitingOf } from './waiting.ts'

/** So many pages after the one asked for are counted, for jumps. */
const PAGES_AHEAD = 9
const NAMES_SHOWN = 3

type Boards = (context: Context, user: Account) => Promise<Board>
type Asked = Parameters<PlatformHandler<'exportTransfers'>>[1]['input']

export function makeTransferSearch(
  boardOf: Boards,
): Pick<PlatformHandlers, 'searchTransfers' | 'exportTransfers'> {
  return {
    searchTransfers: async (context, { input, user }) => {
      const { page = 1, size: wanted = 50 } = input
      const size = Math.min(wanted, context.maxPageSize)
      if (page * size > MOST_SEARCHED)
        throw new NodeError(
          'bad_request',
          `query parameter page times size must be at most ${MOST_SEARCHED}: narrow the search by initialDate and endDate`,
        )
      const board = await boardOf(context, user)
      const filter = await filterOf(context, user, board, input)
      const asked = { order: orderOf(input), offset: (page - 1) * size, size, ahead: PAGES_AHEAD * size }
      const found = await searchTransfers(context.store.db, filter, asked)
      return {
        content: await summarise(context, board, found.page, filter),
        number: page,
        size,
        counted: found.count,
        more: found.more,
        ...(found.stoppedAt !== undefined && { stoppedAt: showTime(found.stoppedAt, context.zone) }),
      }
    },
    exportTransfers: async (context, { input, user, request, reply }) => {
      const board = await boardOf(context, user)
      const filter = await filterOf(context, user, board, input)
      await context.store.write((tx) =>
        context.audit.add(tx, actorOf({ user, request }), [
          { action: 'TRANSFERS_EXPORTED', channelCode: input.channelCode, facts: { ...input } },
        ]),
      )
      return reply
        .type('text/csv; charset=utf-8')
        .header('Content-Disposition', 'attachment; filename="transfers.csv"')
        .header('Cache-Control', 'no-store')
        .send(Readable.from(csvOf(context, board, filter, orderOf(input))))
    },
  }
}

function orderOf({ sort }: Asked): 'newest' | 'oldest' {
  return sort === 'OLDEST' ? 'oldest' : 'newest'
}

async function filterOf(
  context: Context,
  user: Account,
  board: Board,
  asked: Asked,
): Promise<TransferFilter> {
  const { fileName, hash, status, direction, type, initialDate, endDate } = asked
  const days = {
    ...(initialDate !== undefined && { initialDate }),
    ...(endDate !== undefined && { endDate }),
  }
  return {
    ...spanOf(days, context.zone),
    states: status && [status],
    directions: direction && [direction],
    types: type && [type],
    hash: hash?.replace('sha256:', '').toLowerCase(),
    fileName: fileName === undefined ? undefined : namePattern(fileName),
    codes: await codesOf(context, user, board, asked),
  }
}

/** Undefined where every channel is meant and every one is open to the user: then none need be looked up. */
async function codesOf(
  context: Context,
  user: Account,
  board: Board,
  { channelCode, channels, contactId }: Asked,
): Promise<ReadonlySet<string> | undefined> {
  if (channelCode !== undefined) return new Set([(await reachChannel(context, user, channelCode)).code])
  if (channels === undefined && contactId === undefined)
    return board.view.codes.length === board.catalogue.channels.size ? undefined : new Set(board.view.codes)
  return new Set(board.find({ search: channels, contactId }))
}

async function summarise(
  context: Context,
  board: Board,
  page: readonly Listed[],
  filter: TransferFilter,
): Promise<TransferSummary[]> {
  const { db } = context.store
  const ids = page.map(({ id }) => id)
  if (ids.length === 0) return []
  const rows = await summariesOf(db, ids)
  const names = filter.fileName ? await namesOf(db, ids) : await firstNames(db, ids, NAMES_SHOWN)
  const waiting = await waitingOf(context, board, page)
  const shown = (id: string) =>
    (names.get(id) ?? []).filter((name) => filter.fileName?.fits(name) ?? true).slice(0, NAMES_SHOWN)
  return page.flatMap((one) => {
    const row = rows.get(one.id)
    return row ? [toWire(context, board, one, row, shown(one.id), waiting.get(one.id))] : []
  })
}

function toWire(
  { zone }: Context,
  board: Board,
  one: Listed,
  row: SummaryRow,
  fileNames: string[],
  waiting?: TransferSummary['waiting'],
): TransferSummary {
  const facts = board.catalogue.channels.get(one.channelCode)
  const contactName = facts && board.catalogue.contactNames.get(facts.contactId)
  return {
    transferId: one.id,
    channelCode: one.channelCode,
    ...(facts?.config.name !== undefined && { channelName: facts.config.name }),
    ...(facts && { contactId: facts.contactId }),
    ...(contactName !== undefined && { contactName }),
    direction: one.direction,
    status: one.state,
    type: one.type,
    requestedAt: showTime(row.requestedAt, zone),
    ...(row.requestedBy !== null && { requestedBy: row.requestedBy }),
    ...(row.startedAt !== null && { startedAt: showTime(row.startedAt, zone) }),
    ...(row.endedAt !== null && { endedAt: showTime(row.endedAt, zone) }),
    ...(row.error !== null && { error: row.error }),
    ...(row.errorCode !== null && { errorCode: row.errorCode }),
    ...(waiting && { waiting }),
    files: row.files,
    bytes: row.bytes,
    fileNames,
  }
}

const COLUMNS = [
  'transferId',
  'channelCode',
  'contactId',
  'direction',
  'status',
  'type',
  'requestedAt',
  'requestedBy',
  'startedAt',
  'endedAt',
  'error',
] as const satisfies (keyof TransferSummary)[]

async function* csvOf(
  context: Context,
  board: Board,
  filter: TransferFilter,
  order: 'newest' | 'oldest',
): AsyncGenerator<string> {
  yield csvLine([...COLUMNS, 'fileName', 'size', 'hash', 'path'])
  for await (const group of everyTransfer(context.store.db, filter, order)) {
    const ids = group.map(({ id }) => id)
    const rows = await summariesOf(context.store.db, ids)
    const files = await fileLines(context.store.db, ids)
    for (const one of group) {
      const row = rows.get(one.id)
      if (!row) continue
      const shown = toWire(context, board, one, row, [])
      const cells = COLUMNS.map((name) => shown[name] ?? '')
      for (const { name, size, hash, path } of files.get(one.id) ?? [NO_FILE])
        yield csvLine([...cells, name, size === null ? '' : String(size), hash ? `sha256:${hash}` : '', path])
    }
  }
}

const NO_FILE = { name: '', size: null, hash: null, path: '' }
