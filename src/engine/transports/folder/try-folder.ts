// Whether a partner's folder can be used: listed, written with what counts on the disk, and cleared again.

import { randomUUID } from 'node:crypto'
import { open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fromFileError } from '../../../errors.ts'
import { syncFolder } from '../../../files/folder-sync.ts'
import { requirePartnerFolder } from '../../../files/partner-folders.ts'
import type { NodePlaces } from '../../../files/partner-folders.ts'

export async function tryFolder(folder: string, places: NodePlaces): Promise<void> {
  const path = join(folder, `.esclusa-test-${randomUUID()}.part`)
  try {
    await readdir(folder)
    requirePartnerFolder(folder, places)
    const file = await open(path, 'wx', 0o600)
    try {
      await file.writeFile('test')
      await file.sync()
    } finally {
      await file.close()
      await rm(path, { force: true })
    }
    await syncFolder(folder)
  } catch (thrown) {
    throw fromFileError(thrown, folder)
  }
}
