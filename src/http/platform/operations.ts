// What the node adds to the interface. It shows a user nothing that the interface would not show the same user: only
// channels open to the user, transfers only to roles that may read them, partners only with contactChannels.

import { makePage } from '../../contract/page.ts'
import type { PlatformOutputOf } from '../../contract/platform.ts'
import { showTime } from '../../domain/time.ts'
import { PARKED } from '../../domain/transfer.ts'
import type { TransferRecord } from '../../domain/transfer.ts'
import { NodeError } from '../../errors.ts'
import { describeFailures, moreOfTransfer } from '../../store/overview.ts'
import { lastRetriable } from '../../store/transfers/failures.ts'
import { findTransfer } from '../../store/transfers/transfers.ts'
import { firstRunHandlers } from '../account/first-run.ts'
import { ownAccountHandlers } from '../account/own-account.ts'
import { sessionHandlers } from '../account/sessions.ts'
import { channelHandlers } from '../administration/channels.ts'
import { partnerHandlers } from '../administration/partners.ts'
import { noticeHandlers } from '../administration/notices.ts'
import { connectionTestHandlers } from '../administration/connection-test.ts'
import { fileHandlers } from '../administration/platform-file.ts'
import { tokenHandlers } from '../administration/tokens.ts'
import { userHandlers } from '../administration/users.ts'
import { auditHandlers } from './audit.ts'
import { channelHistoryFacts } from './channel-history.ts'
import { makeBoards } from './channel-board.ts'
import type { Board, Boards } from './channel-board.ts'
import type { Context } from '../context.ts'
import { failuresToWire, retryAnswer, visibleFailures } from './failures.ts'
import { keyHandlers } from './keys.ts'
import { makeKeyList } from './key-list.ts'
import type { KeyList } from './key-list.ts'
import { quarantineHandlers } from './quarantine.ts'
import { reachChannel } from '../guard.ts'
import type { PlatformHandlers } from './handler.ts'
import { makeHours, overview } from './overview.ts'
import { pauseEnds, waitingOf } from './waiting.ts'
import { transferActionHandlers } from './transfer-actions.ts'
import { uploadHandlers } from './uploads.ts'
import { makeTransferSearch } from './transfer-search.ts'
import { makeNotificationHandlers } from '../notifications/handlers.ts'
import { askedPage } from '../integration/paging.ts'
import { fetchTransfer } from '../integration/transfers.ts'

type Platform = {
  handlers: PlatformHandlers
  /** Reads what every list needs of all channels, before somebody waits for it. */
  prepare(context: Context): Promise<void>
}

/** Made once per server. It keeps what it knows of channels between requests. */
export function makePlatform(): Platform {
  const boardOf = makeBoards()
  const keyList = makeKeyList(boardOf)
  return {
    handlers: makeHandlers(boardOf, keyList),
    prepare: async (context) => {
      await keyList.prepare(context, await boardOf(context, { username: '', role: 'ROLE_GLOBALADMIN' }))
    },
  }
}

function makeHandlers(boardOf: Boards, keyList: KeyList): PlatformHandlers {
  const hoursOf = makeHours()
  return {
    ...sessionHandlers,
    ...ownAccountHandlers,
    ...firstRunHandlers,
    ...userHandlers,
    ...partnerHandlers,
    ...channelHandlers,
    ...connectionTestHandlers,
    ...fileHandlers,
    ...noticeHandlers,
    ...tokenHandlers,
    ...auditHandlers,
    ...transferActionHandlers,
    ...uploadHandlers,
    ...keyHandlers,
    ...keyList.handlers,
    ...quarantineHandlers,
    ...makeTransferSearch(boardOf),
    ...makeNotificationHandlers(boardOf),
    overview: async (context, { user }) => overview(context, user, await boardOf(context, user), hoursOf),
    searchChannels: async (context, { input, user }) => {
      const { page: _page, size: _size, ...filter } = input
      const asked = askedPage(context, input)
      const board = await boardOf(context, user)
      const codes = board.find(filter)
      const some = codes.slice(asked.offset, asked.offset + asked.size)
      const pauses = await pauseEnds(context)
      return makePage(
        some.flatMap((code) => summaryOf(board, code, pauses.get(code))),
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
      return makePage(await failuresToWire(context, board, some), ids.length, asked)
    },
    fetchTransfer,
    channelHistoryFacts,
    transferFacts: async (context, { input, user }) => {
      const channel = await reachChannel(context, user, input.channelCode)
      const transfer = await findTransfer(context.store.db, input.transferId)
      if (transfer?.channelCode !== channel.code)
        throw new NodeError('not_found', `channel ${channel.code} has no transfer ${input.transferId}`)
      return factsOf(context, await boardOf(context, user), transfer)
    },
  }
}

function summaryOf(
  board: Board,
  code: string,
  automaticPauseUntil: string | undefined,
): PlatformOutputOf<'searchChannels'>['content'] {
  const facts = board.catalogue.channels.get(code)
  if (!facts) return []
  const { name, direction, category, localEntity, remoteEntity } = facts.config
  const names = {
    localName: facts.names.local,
    remoteName: facts.names.remote,
    contactName: facts.names.contact,
  }
  const shown = { name, direction, category, localEntity, remoteEntity, automaticPauseUntil, ...names }
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

async function factsOf(
  context: Context,
  board: Board,
  transfer: TransferRecord,
): Promise<PlatformOutputOf<'transferFacts'>> {
  const more = await moreOfTransfer(context.store.db, transfer.id)
  const isFailed = transfer.state === 'FAILED'
  const next = isFailed ? await lastRetriable(context.store.db, transfer.channelCode) : undefined
  const waits = transfer.state === 'PENDING' && transfer.dueAt < PARKED
  const waiting = (await waitingOf(context, board, [transfer])).get(transfer.id)
  return {
    transferId: transfer.id,
    channelCode: transfer.channelCode,
    requestedAt: showTime(transfer.requestedAt, context.zone),
    ...(more.requestedBy !== null && { requestedBy: more.requestedBy }),
    // The store counts those that were followed by another.
    attempts: transfer.attempts + (isFailed && transfer.startedAt !== null ? 1 : 0),
    ...(waits && { nextAttemptAt: showTime(transfer.dueAt, context.zone) }),
    ...(waiting && { waiting }),
    ...(more.errorCode !== null && { errorCode: more.errorCode }),
    ...(isFailed && { retry: retryAnswer(board, transfer, next?.id) }),
    ...(transfer.retryOf !== null && { retryOf: transfer.retryOf }),
    ...(more.retriedBy !== null && { retriedBy: more.retriedBy }),
    ...(more.resendOf !== null && { resendOf: more.resendOf }),
    ...(more.comment !== null && { comment: more.comment }),
    ...(more.output !== null && { output: more.output }),
    files: transfer.files.map((file) => ({
      fileName: file.name,
      ...(file.size !== null && { size: file.size }),
      position: file.position,
      phase: file.phase,
      receipt: file.receipt,
      ...(file.receiptAt !== null && { receiptAt: showTime(file.receiptAt, context.zone) }),
      ...(file.receiptReason !== null && { receiptReason: file.receiptReason }),
    })),
  }
}
