// A file that does not open, or whose signature is wrong, is kept here until somebody looks at it.

import { copyFile, rename } from 'node:fs/promises'
import type { EngineContext } from '../engine-context.ts'

export async function quarantine(
  context: EngineContext,
  transferId: string,
  name: string,
  path: string,
): Promise<void> {
  const target = await context.staging.quarantine(transferId, name)
  await rename(path, target).catch(() => copyFile(path, target))
  context.log.warn({ transfer: transferId, path: target }, 'a received file is in quarantine')
}
