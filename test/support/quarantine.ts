// Quarantined files, made as the engine makes them, for tests of what people do with them.

import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openedBeside, quarantinedFacts } from '../../src/files/quarantine.ts'
import { insertQuarantined } from '../../src/store/quarantine.ts'
import type { Store } from '../../src/store/database/store.ts'

export type Given = { channelCode: string; name?: string; opened?: string | null }

/** Its id is that of its transfer. */
export async function putIntoQuarantine(
  { store, dataDir }: { store: Store; dataDir: string },
  id: string,
  { channelCode, name = 'pay.txt', opened = 'the content' }: Given,
): Promise<string> {
  const folder = join(dataDir, 'quarantine', id)
  await mkdir(folder, { recursive: true })
  const path = join(folder, name)
  if (opened !== null) await writeFile(openedBeside(path), opened)
  await writeFile(path, `as it came: ${opened}`)
  const facts = await quarantinedFacts(path)
  await store.write((tx) =>
    insertQuarantined(tx, {
      id,
      transferId: id,
      channelCode,
      name,
      ...facts,
      code: 'bad_signature',
      reason: 'the signature does not verify',
      quarantinedAt: Date.now(),
    }),
  )
  return path
}
