// `esclusa held …`: files that are not sent until a person decides, since a restore.

import type { AuditNote } from '../../audit/trail.ts'
import { NodeError } from '../../errors.ts'
import { hashFile } from '../../files/hash.ts'
import { findChannel } from '../../store/channels.ts'
import { dropHeld, releaseHeld, undecidedFiles } from '../../store/held-files.ts'
import type { HeldFile } from '../../store/held-files.ts'
import { bytes, say, sayJson, sayTable } from '../print.ts'
import { withPlatform } from './with-platform.ts'
import type { OpenPlatform } from './with-platform.ts'

export async function listHeld(options: { json?: boolean }): Promise<void> {
  const files = await withPlatform(({ store }) => undecidedFiles(store.db))
  if (options.json) return sayJson(files)
  sayTable(
    files.map((file) => ({
      ID: file.id,
      CHANNEL: file.channelCode,
      FILE: file.name,
      SIZE: bytes(file.size),
      MODIFIED: new Date(file.modifiedAt).toISOString(),
      WAITS: file.outboxId === null ? 'to be sent' : 'to be taken by the partner',
    })),
    'no file is held',
  )
}

export type Which = { all?: boolean; channel?: string }

/** The partner does not have them: they may be sent. */
export async function sendHeld(ids: readonly string[], which: Which): Promise<void> {
  await decide(ids, which, async ({ store, audit, actor }, file) => {
    await store.write(async (tx) => {
      await releaseHeld(tx, file)
      await audit.add(tx, actor, [noteOf('HELD_FILE_RELEASED', file)])
    })
    say(`> ${file.channelCode} ${file.name} may be sent`)
  })
}

/** The partner has them: they count as sent. */
export async function dropHeldFiles(ids: readonly string[], which: Which): Promise<void> {
  await decide(ids, which, async ({ store, audit, actor }, file) => {
    const hash = file.outboxId === null ? await hashFile(file.path).catch(() => undefined) : undefined
    await store.write(async (tx) => {
      await dropHeld(tx, file, hash, Date.now())
      await audit.add(tx, actor, [noteOf('HELD_FILE_DROPPED', file)])
    })
    say(`- ${file.channelCode} ${file.name} counts as sent`)
  })
}

function noteOf(
  action: 'HELD_FILE_RELEASED' | 'HELD_FILE_DROPPED',
  { channelCode, path }: HeldFile,
): AuditNote {
  return { action, channelCode, facts: { path } }
}

async function decide(
  ids: readonly string[],
  { all, channel }: Which,
  act: (platform: OpenPlatform, file: HeldFile) => Promise<void>,
): Promise<void> {
  if (ids.length === 0 && !all && channel === undefined)
    throw new NodeError(
      'bad_use',
      'say which: ids as esclusa held list prints them, --channel CODE, or --all',
    )
  await withPlatform(async (platform) => {
    if (channel !== undefined && !(await findChannel(platform.store.db, channel)))
      throw new NodeError('not_found', `there is no channel ${channel}`)
    const files = await undecidedFiles(platform.store.db)
    const unknown = ids.filter((id) => !files.some((file) => file.id === id))
    if (unknown.length > 0) throw new NodeError('not_found', `no file ${unknown.join(', ')} is held`)
    const meant = files.filter(
      (file) =>
        ids.includes(file.id) ||
        (ids.length === 0 && (channel === undefined || file.channelCode === channel)),
    )
    for (const file of meant) await act(platform, file)
    if (meant.length === 0) say('no file is held there')
  })
}
