// Quarantined files, for whoever holds controlatorFF: listed, downloaded, released, discarded.

import { open } from 'node:fs/promises'
import { makePage } from '../../contract/page.ts'
import type { QuarantinedFileFacts } from '../../contract/administration/quarantine.ts'
import { showTime } from '../../domain/time.ts'
import { isAdministrator } from '../../domain/user.ts'
import { NodeError, systemCode } from '../../errors.ts'
import { discardFile, releaseFile } from '../../quarantine/decide-file.ts'
import type { Account } from '../../store/accounts.ts'
import { findChannel } from '../../store/channels.ts'
import { findQuarantined, listQuarantined } from '../../store/quarantine.ts'
import type { QuarantinedFile } from '../../store/quarantine.ts'
import { actorOf } from '../actor.ts'
import { attachment } from '../attachment.ts'
import type { Context } from '../context.ts'
import { asDiskConflict } from '../error-reply.ts'
import { checkReach } from '../guard.ts'
import { askedPage } from '../integration/paging.ts'
import type { PlatformHandler, PlatformHandlers } from './handler.ts'

const listQuarantine: PlatformHandler<'listQuarantine'> = async (context, { input, user }) => {
  const asked = askedPage(context, input)
  const view = await context.channelAccess(context.store.db, user)
  const states = input.state === undefined ? undefined : [input.state]
  const all = await listQuarantined(context.store.db, { states, channelCode: input.channelCode })
  // Of channels that are gone nobody but administrators knows.
  const found = all.filter(({ channelCode }) => isAdministrator(user) || view.reaches(channelCode))
  const some = found.slice(asked.offset, asked.offset + asked.size)
  return makePage(
    some.map((file) => toWire(context, file)),
    found.length,
    asked,
  )
}

const downloadQuarantined: PlatformHandler<'downloadQuarantined'> = async (context, call) => {
  const { input, user, reply } = call
  const { form = 'received' } = input
  const file = await reachFile(context, user, input.fileId)
  const { path, size } = form === 'received' ? file : (file.opened ?? { path: undefined, size: 0 })
  if (path === undefined)
    throw new NodeError('conflict', `${file.name} could not be opened: download it as it came`)
  const handle = await open(path, 'r').catch((thrown: unknown) => {
    if (systemCode(thrown) !== 'ENOENT') throw thrown
    throw new NodeError('conflict', `${file.name} was released or discarded: its bytes are no longer here`)
  })
  const { transferId, channelCode, name, hash } = file
  await context.store
    .write((tx) =>
      context.audit.add(tx, actorOf(call), [
        {
          action: 'FILE_DOWNLOADED',
          subject: { kind: 'transfer', name: transferId },
          ...(channelCode !== '' && { channelCode }),
          facts: { file: name, form, quarantined: true, hash: `sha256:${hash}` },
        },
      ]),
    )
    .catch(async (thrown: unknown) => {
      await handle.close()
      throw thrown
    })
  return attachment(reply, name, size).send(handle.createReadStream())
}

const releaseQuarantined: PlatformHandler<'releaseQuarantined'> = async (context, call) => {
  const file = await reachFile(context, call.user, call.input.fileId)
  await releaseFile(context, actorOf(call), file).catch((thrown: unknown) => {
    throw asDiskConflict(thrown)
  })
  context.wake({ kind: 'due' })
  return toWire(context, await reachFile(context, call.user, file.id))
}

const discardQuarantined: PlatformHandler<'discardQuarantined'> = async (context, call) => {
  const file = await reachFile(context, call.user, call.input.fileId)
  await discardFile(context, actorOf(call), file)
  return toWire(context, await reachFile(context, call.user, file.id))
}

export const quarantineHandlers = {
  listQuarantine,
  downloadQuarantined,
  releaseQuarantined,
  discardQuarantined,
} satisfies Partial<PlatformHandlers>

async function reachFile(context: Context, user: Account, id: string): Promise<QuarantinedFile> {
  const file = await findQuarantined(context.store.db, id)
  const missing = () => new NodeError('not_found', `there is no quarantined file ${id}`)
  if (!file) throw missing()
  const channel = await findChannel(context.store.db, file.channelCode)
  if (channel) checkReach(user, channel)
  else if (!isAdministrator(user)) throw missing()
  return file
}

function toWire({ zone }: Context, file: QuarantinedFile): QuarantinedFileFacts {
  const { channelCode, opened, decidedAt, decidedBy, target } = file
  return {
    id: file.id,
    transferId: file.transferId,
    ...(channelCode !== '' && { channelCode }),
    fileName: file.name,
    size: file.size,
    hash: `sha256:${file.hash}`,
    opened: opened !== null,
    ...(opened && { openedSize: opened.size }),
    errorCode: file.code,
    reason: file.reason,
    quarantinedAt: showTime(file.quarantinedAt, zone),
    state: file.state,
    ...(decidedAt !== null && { decidedAt: showTime(decidedAt, zone) }),
    ...(decidedBy !== null && { decidedBy }),
    ...(target !== null && { path: target }),
  }
}
