// Emissions to partners who call to take their files. A push puts a copy of the wire form into the spool, where the
// partner finds it. Without downloadConf the file counts as handed over once it lies there. With downloadConf the
// transfer waits until the partner has taken the file, which counts as the receipt.

import { constants } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { goes } from '../../domain/channel.ts'
import { NodeError, fromFileError } from '../../errors.ts'
import { syncFolder } from '../../files/folder-sync.ts'
import { newId } from '../../store/database/ids.ts'
import { isUniqueViolation } from '../../store/database/driver-errors.ts'
import {
  addToOutbox,
  outboxPaths,
  takeFromOutbox,
  transferTakenBy,
  waitingFile,
  waitingFiles,
  wasTaken,
} from '../../store/transfers/outbox.ts'
import type { OutboxFile } from '../../store/transfers/outbox.ts'
import { copyBytes, sha256Of } from '../transports/folder/bytes.ts'
import { sessionChannelsOf } from '../transfer-plan.ts'
import type { TransferPlan } from '../transfer-plan.ts'
import type { Outbox, OutgoingEntry } from '../transports/outbox.ts'
import type { Protocol, PushProgress, Reach, PushResult, Session, WireFile } from '../transports/transport.ts'
import type { EngineContext } from '../engine-context.ts'
import { writeHeld } from '../held-writes.ts'
import type { RunningTransfer } from '../running-transfer.ts'

const SHOWN = 10_000

/** Whether the partner calls to take its files: it has access here, and this node does not or may not call it. */
export function isSpooled(plan: TransferPlan, { capabilities, sections }: Protocol): boolean {
  if (!capabilities.pickup || plan.settings[sections.called] === undefined) return false
  return (
    plan.settings[sections.calling] === undefined ||
    plan.channel.connection?.advancedConfigurationConnection?.callingEnd === 'REMOTO'
  )
}

/** Nobody is at the other end of the spool: nothing comes in by it. */
function reachOfNobody(contactId: string): Reach {
  const refusal = () => new NodeError('remote_refused', 'nothing comes in by the spool')
  return { contactId, openedBy: 'node', refusal }
}

/** A session only in name: nobody is called, and SSH will encrypt whatever the partner takes. */
export function spoolSession(running: RunningTransfer): Session {
  const { plan, transfer } = running
  return {
    contactId: plan.contact.id,
    reach: reachOfNobody(plan.contact.id),
    encrypted: true,
    ended: new AbortController().signal,
    push: (file, progress, signal) => {
      const index = transfer.files.findIndex(
        ({ keyDate, keyTime }) => keyDate === file.key.date && keyTime === file.key.time,
      )
      return spool(running, index, file, progress, signal)
    },
    fetch: () => Promise.resolve(),
    close: () => Promise.resolve(),
  }
}

/**
 * Copy, sync, and only then the row that shows it, under the claim: a node that slept and has lost the transfer, or whose
 * transfer was cancelled meanwhile, shows the partner nothing.
 */
async function spool(
  { context, held, plan: { code } }: RunningTransfer,
  index: number,
  file: WireFile,
  progress: PushProgress,
  signal: AbortSignal,
): Promise<PushResult> {
  const known = await waitingFile(context.store.db, code, file.name)
  // Another file of this transfer may have the same name: it comes from another directory.
  if (known?.transferId === file.transferId && known.index === index)
    return { receipt: 'awaited', remoteSha256: await sha256Of(known.path) }
  if (known) throw nameTaken(file.name)
  // The partner may have taken it before the attempt that laid it there could note that.
  const by = file.mayBeThere ? await takenBy(context, code, file) : undefined
  if (by !== undefined)
    return { receipt: by === file.transferId ? 'awaited' : 'none', remoteSha256: undefined }
  const id = newId(context.now())
  const path = await context.staging.spooled(file.transferId, id)
  const { promise: over, resolve: end } = Promise.withResolvers<void>()
  context.staging.inHand(path, over)
  try {
    const size = await copyTo(path, file, progress, signal)
    const remoteSha256 = file.verify ? await sha256Of(path) : undefined
    await progress.placing()
    const { name, transferId } = file
    const entry = { id, channelCode: code, name, path, size, modifiedAt: context.now(), transferId, index }
    await writeHeld(context.store, held, (tx) => addToOutbox(tx, entry))
    return { receipt: 'awaited', remoteSha256 }
  } catch (thrown) {
    // The database may have written the row all the same: the copy stays until it is known that there is none (leftovers.ts).
    const unsure = thrown instanceof NodeError && thrown.code === 'unavailable'
    if (!unsure) await rm(path, { force: true })
    throw isUniqueViolation(thrown)
      ? nameTaken(file.name)
      : signal.aborted
        ? signal.reason
        : fromFileError(thrown, 'the data folder')
  } finally {
    end()
  }
}

async function copyTo(
  path: string,
  { source }: WireFile,
  progress: PushProgress,
  signal: AbortSignal,
): Promise<number> {
  await using out = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600)
  await copyBytes(source, out, { position: 0, progress, signal })
  await out.sync()
  await syncFolder(dirname(path))
  return source.size
}

function takenBy({ store }: EngineContext, channelCode: string, { name, key }: WireFile) {
  return transferTakenBy(store.db, { channelCode, name, keyDate: key.date, keyTime: key.time })
}

/** Removes the copies that the end of the transfer has withdrawn. */
export async function clearWithdrawn({ store, staging }: EngineContext, transferId: string): Promise<void> {
  const lying = await staging.spooledOf(transferId)
  const known = new Set(lying.length === 0 ? [] : await outboxPaths(store.db, transferId))
  for (const path of lying) if (!known.has(path) && !staging.isInHand(path)) await rm(path, { force: true })
}

function nameTaken(name: string): NodeError {
  return new NodeError(
    'name_taken',
    `${name} still lies in the partner’s out folder: it has not been taken yet`,
  )
}

function withdrawn({ name }: OutgoingEntry): NodeError {
  return new NodeError('file_missing', `${name} is no longer there`)
}

/**
 * The code of the channel that uploads for an application belong to in a session; undefined where it reaches none. It may
 * reach channels of two local entities: what those send lies in the same folder (`outboxOf`), and if both of them take
 * files, route-offer.ts takes none.
 */
export async function reachedCode(
  context: EngineContext,
  reach: Reach,
  application: string,
): Promise<string | undefined> {
  const channels = await reachedChannels(context, reach, application)
  return (channels.find(({ config }) => goes(config, 'RECEPCION')) ?? channels[0])?.code
}

async function reachedChannels({ store }: EngineContext, reach: Reach, application: string) {
  const channels = await sessionChannelsOf(store.db, reach, application)
  return channels.filter((channel) => !reach.refusal(channel))
}

/** What a listener shows a partner over one session. */
export function outboxOf(context: EngineContext, reach: Reach, wake: () => void): Outbox {
  const codesOf = async (application: string) =>
    (await reachedChannels(context, reach, application)).map(({ code }) => code)
  const shown = (file: OutboxFile): OutgoingEntry => ({
    id: file.id,
    channel: file.channelCode,
    name: file.name,
    size: file.size,
    mtimeMs: file.modifiedAt,
  })
  const fileOf = async (application: string, entry: OutgoingEntry) => {
    const isThere = (await codesOf(application)).includes(entry.channel)
    return isThere ? waitingFile(context.store.db, entry.channel, entry.name) : undefined
  }
  return {
    channels: codesOf,
    list: async (application) => {
      const files = new Map<string, OutboxFile>()
      for (const code of await codesOf(application))
        // Of two with the same name the first is what `find` finds; the other is shown when that has been taken.
        for (const file of await waitingFiles(context.store.db, code, SHOWN))
          if (!files.has(file.name)) files.set(file.name, file)
      return [...files.values()].slice(0, SHOWN).map(shown)
    },
    find: async (application, name) => {
      for (const code of await codesOf(application)) {
        const file = await waitingFile(context.store.db, code, name)
        if (file) return shown(file)
      }
      return undefined
    },
    open: async (application, entry) => {
      const file = await fileOf(application, entry)
      if (file?.id !== entry.id) throw withdrawn(entry)
      const opened = await open(file.path, 'r')
      return {
        read: async (into, position) => (await opened.read(into, 0, into.length, position)).bytesRead,
        close: () => opened.close(),
      }
    },
    taken: async (application, entry) => {
      const file = await fileOf(application, entry)
      const isTaken =
        file?.id === entry.id && (await context.store.write((tx) => takeFromOutbox(tx, file, context.now())))
      if (isTaken) {
        await rm(file.path, { force: true })
        wake()
      } else if (!(await wasTaken(context.store.db, entry.id))) throw withdrawn(entry)
    },
  }
}
