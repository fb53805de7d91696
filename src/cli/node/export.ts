// `esclusa export`: the platform as a file, on standard output.

import { exportPlatform } from '../../platform/export.ts'
import { withPlatform } from './with-platform.ts'

export async function exportFile(options: { secrets?: boolean }): Promise<void> {
  const secrets = options.secrets ?? false
  // Where the master key is lost, this is how to come to another platform.
  const anyKey = !secrets
  await withPlatform(
    async ({ store, seal, audit, actor }) => {
      const file = await exportPlatform(store.db, seal, { secrets })
      await store.write((tx) => audit.add(tx, actor, [{ action: 'PLATFORM_EXPORTED', facts: { secrets } }]))
      process.stdout.write(file)
    },
    { anyKey },
  )
}
