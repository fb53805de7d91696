// `esclusa export`: the platform as a file, on standard output.

import { exportPlatform } from '../../platform/export.ts'
import { withPlatform } from './with-platform.ts'

export async function exportFile(options: { secrets?: boolean }): Promise<void> {
  await withPlatform(async ({ store, seal }) => {
    process.stdout.write(await exportPlatform(store.db, seal, { secrets: options.secrets ?? false }))
  })
}
