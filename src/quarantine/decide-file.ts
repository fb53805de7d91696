// What people do with quarantined files: release one into its channel's inbound directory, or discard it. The order, each
// step durable before the next:
//
//   1 decided   RELEASING with the name it gets (or DISCARDING), by whom, and the entry of the audit trail
//   2 done      linked to that name, the folder synced; then the bytes here are removed
//   3 recorded  RELEASED with the event that the file is in its place (or DISCARDED)
//
// A crash after 1 leaves a decision that `finishDecision` carries out; it may be called again at any point. A release
// happens once: the name is the row's, a name is never overwritten, and linking a file changes its inode, by which a
// crash between 2 and 3 shows even if somebody took the file from its place meanwhile.

import { rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { BY_ITSELF } from '../audit/trail.ts'
import type { Actor, AuditTrail } from '../audit/trail.ts'
import type { AuditOutcome } from '../contract/audit.ts'
import type { Channel } from '../contract/channel.ts'
import type { Roots } from '../domain/channel-rules.ts'
import { directoriesFor, goes } from '../domain/channel.ts'
import { rootsOf } from '../domain/file-roots.ts'
import type { Zone } from '../domain/time.ts'
import { NodeError } from '../errors.ts'
import { syncFolder } from '../files/folder-sync.ts'
import { ensureFolder, exists, ifThere, isPlaced, placeFile, stampedName } from '../files/place.ts'
import { UNPACKED } from '../files/quarantine.ts'
import { requireConfined } from '../files/roots.ts'
import { groupMatcher } from '../files/send-set.ts'
import { findChannel } from '../store/channels.ts'
import { findLocalEntity } from '../store/contacts.ts'
import type { Store, Tx } from '../store/database/store.ts'
import { moveQuarantined, tellReleased } from '../store/quarantine.ts'
import type { QuarantinedFile } from '../store/quarantine.ts'

export type Deciding = {
  store: Store
  audit: AuditTrail
  roots: Roots
  zone: Zone
  now: () => number
}

/** Where the file lies now. */
export async function releaseFile(deciding: Deciding, actor: Actor, file: QuarantinedFile): Promise<string> {
  const { store, zone, now } = deciding
  // Said before the name is looked at: after a release its own file may lie there.
  if (file.state !== 'WAITING') throw decidedAlready(file)
  const opened = requireOpened(file)
  const plain = nameOf(file, opened)
  const { folder, digits, mayRename } = await inboundOf(deciding, { ...file, name: plain })
  const at = now()
  const openedMark = await markOf(opened.path)
  let before: string | undefined
  for (let nth = 0; ; nth++) {
    const name = nth === 0 ? stampedName(plain, digits, at, zone) : stampedName(plain, 17, at, zone, nth - 1)
    const target = join(folder, name)
    if (before === undefined && (await exists(target))) {
      if (mayRename && nth < 100) continue
      throw new NodeError('conflict', `${target} exists already: the file stays in quarantine`)
    }
    const insteadOf = before
    await store.write(async (tx) => {
      const from = insteadOf === undefined ? 'WAITING' : 'RELEASING'
      const move = { from, to: 'RELEASING', target, openedMark, by: actor.who, at } as const
      if (!(await moveQuarantined(tx, file.id, insteadOf === undefined ? move : { ...move, insteadOf })))
        throw decidedAlready(file)
      if (insteadOf === undefined) await note(deciding, tx, actor, file, 'QUARANTINE_RELEASED')
    })
    before = target
    try {
      await placeFile(opened.path, target)
      return await released(deciding, { ...file, target })
    } catch (thrown) {
      if (await wasPlaced({ ...file, openedMark }, opened, target))
        return released(deciding, { ...file, target })
      const isTaken = thrown instanceof NodeError && thrown.code === 'name_taken'
      if (isTaken && mayRename && nth < 100) continue
      await takeBack(deciding, file, actor)
      if (!isTaken) throw thrown
      throw new NodeError('conflict', `${target} exists already: the file stays in quarantine`, {
        cause: thrown,
      })
    }
  }
}

export async function discardFile(deciding: Deciding, actor: Actor, file: QuarantinedFile): Promise<void> {
  const at = deciding.now()
  await deciding.store.write(async (tx) => {
    const move = { from: 'WAITING', to: 'DISCARDING', by: actor.who, at } as const
    if (!(await moveQuarantined(tx, file.id, move))) throw decidedAlready(file)
    await note(deciding, tx, actor, file, 'QUARANTINE_DISCARDED')
  })
  await discarded(deciding, file)
}

/** Carries out what was decided before a crash. */
export async function finishDecision(deciding: Deciding, file: QuarantinedFile): Promise<void> {
  if (file.state === 'DISCARDING') return discarded(deciding, file)
  const { opened, target } = file
  if (file.state !== 'RELEASING' || !opened || target === null) return
  if (!(await wasPlaced(file, opened, target)))
    try {
      await placeFile(opened.path, target)
    } catch (thrown) {
      if (thrown instanceof NodeError && thrown.code === 'name_taken') return takeBack(deciding, file)
      throw thrown
    }
  await released(deciding, file)
}

async function wasPlaced(
  { openedMark }: QuarantinedFile,
  opened: NonNullable<QuarantinedFile['opened']>,
  target: string,
): Promise<boolean> {
  if (!(await exists(opened.path))) return true
  if (await isPlaced(opened.path, target, { size: opened.size, sha256: opened.hash })) return true
  const mark = await markOf(opened.path)
  // The same inode, changed since: it was linked, and whoever took the file from there has it.
  return openedMark !== null && mark !== openedMark && mark?.split(':')[0] === openedMark.split(':')[0]
}

async function markOf(path: string): Promise<string | null> {
  const found = await ifThere(stat(path, { bigint: true }), path)
  return found ? `${found.ino}:${found.ctimeNs}` : null
}

/** A gzip file loses its ending, as it does when it passes its checks. */
function nameOf({ name }: QuarantinedFile, opened: NonNullable<QuarantinedFile['opened']>): string {
  return opened.path.endsWith(UNPACKED) ? name.slice(0, -'.gz'.length) : name
}

function requireOpened({ opened, name }: QuarantinedFile): NonNullable<QuarantinedFile['opened']> {
  if (opened) return opened
  throw new NodeError(
    'conflict',
    `${name} could not be opened, so there is nothing to release: download it as it came, or discard it`,
  )
}

async function inboundOf({ store, roots }: Deciding, { channelCode, name }: QuarantinedFile) {
  const channel = await findChannel(store.db, channelCode)
  if (!channel)
    throw new NodeError('conflict', `channel ${channelCode} was removed: ${name} has no place to go to`)
  const folder = folderFor(channel.config, name)
  if (folder === undefined)
    throw new NodeError(
      'conflict',
      `no inbound directory of channel ${channelCode} takes a file named ${name}`,
    )
  requireConfined(folder, rootsOf(roots, await findLocalEntity(store.db, channel.localCode)).fileRoots)
  await ensureFolder(folder)
  const digits = channel.config.connection?.advancedConfigurationTransmission?.stampLength ?? 0
  return { folder, digits, mayRename: channel.config.integrations?.postReceptionRename === true }
}

function folderFor(config: Channel, name: string): string | undefined {
  if (config.keyExchangeChannel || !goes(config, 'RECEPCION')) return undefined
  const found = directoriesFor(config, 'RECEPCION').find(({ directory }) =>
    groupMatcher(directory.fileGroupsName)(name),
  )
  return found?.directory.filePath
}

function decidedAlready({ name }: QuarantinedFile): NodeError {
  return new NodeError('conflict', `${name} was released or discarded already`)
}

function note(
  { audit }: Deciding,
  tx: Tx,
  actor: Actor,
  { transferId, channelCode, name, hash }: QuarantinedFile,
  action: 'QUARANTINE_RELEASED' | 'QUARANTINE_DISCARDED',
  outcome: AuditOutcome = 'DONE',
) {
  const subject = { kind: 'transfer', name: transferId } as const
  return audit.add(tx, actor, [
    {
      action,
      outcome,
      subject,
      ...(channelCode !== '' && { channelCode }),
      facts: { file: name, hash: `sha256:${hash}` },
    },
  ])
}

/** The name was taken after all: nothing was released, somebody has to decide anew. */
async function takeBack(deciding: Deciding, file: QuarantinedFile, actor: Actor = BY_ITSELF): Promise<void> {
  const back = {
    from: 'RELEASING',
    to: 'WAITING',
    target: null,
    openedMark: null,
    by: null,
    at: null,
  } as const
  await deciding.store.write(async (tx) => {
    if (await moveQuarantined(tx, file.id, back))
      await note(deciding, tx, actor, file, 'QUARANTINE_RELEASED', 'REFUSED')
  })
}

async function released({ store, now }: Deciding, file: QuarantinedFile): Promise<string> {
  await removeBytes(file)
  await store.write(async (tx) => {
    if (await moveQuarantined(tx, file.id, { from: 'RELEASING', to: 'RELEASED' }))
      await tellReleased(tx, file, now())
  })
  return file.target ?? ''
}

async function discarded({ store }: Deciding, file: QuarantinedFile): Promise<void> {
  await removeBytes(file)
  await store.write((tx) => moveQuarantined(tx, file.id, { from: 'DISCARDING', to: 'DISCARDED' }))
}

async function removeBytes({ path, opened }: QuarantinedFile): Promise<void> {
  if (opened) await rm(opened.path, { force: true })
  await rm(path, { force: true })
  await syncFolder(dirname(path)).catch(() => {})
  // Only when nothing else of the transfer lies there.
  await rmdir(dirname(path)).catch(() => {})
}
