// A file that does not open, or whose signature is wrong, is kept until somebody looks at it: the bytes as they came, and
// beside them the file itself where it could be taken out of what came. First the files, then the row; a crash between
// the two leaves files that upkeep finds (src/quarantine/adopt.ts).

import { copyFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { TransferRecord } from '../../domain/transfer.ts'
import { toNodeError } from '../../errors.ts'
import { syncFolder } from '../../files/folder-sync.ts'
import { exists } from '../../files/place.ts'
import { claimQuarantinePath, openedBeside, quarantinedFacts, UNPACKED } from '../../files/quarantine.ts'
import { newId } from '../../store/database/ids.ts'
import { insertQuarantined } from '../../store/quarantine.ts'
import type { EngineContext } from '../engine-context.ts'
import { localPath } from '../staging/staging.ts'

export async function quarantine(
  context: EngineContext,
  transfer: TransferRecord,
  name: string,
  path: string,
  reason: unknown,
): Promise<void> {
  const wanted = await context.staging.quarantine(transfer.id, name)
  const { path: target, claim } = await claimQuarantinePath(path, wanted)
  try {
    for (const ending of ['', UNPACKED] as const) {
      const opened = localPath(path) + ending
      if (await exists(opened)) await move(opened, openedBeside(target, ending))
    }
    await rename(claim, target)
  } catch (thrown) {
    await rm(claim, { force: true })
    throw thrown
  }
  await rm(path, { force: true })
  await syncFolder(dirname(target))
  context.log.warn({ transfer: transfer.id, path: target }, 'a received file is in quarantine')
  const now = context.now()
  const { code, message } = toNodeError(reason)
  const facts = await quarantinedFacts(target)
  await context.store.write((tx) =>
    insertQuarantined(tx, {
      id: newId(now),
      transferId: transfer.id,
      channelCode: transfer.channelCode,
      name,
      ...facts,
      code,
      reason: message,
      quarantinedAt: now,
    }),
  )
}

function move(from: string, to: string): Promise<void> {
  return rename(from, to).catch(() => copyFile(from, to))
}
