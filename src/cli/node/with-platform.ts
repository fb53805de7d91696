// Opens the database that the settings name, for a command that works on it directly, and closes it again.

import { readConfig } from '../../config.ts'
import type { Config } from '../../config.ts'
import { readSecrets } from '../../files/secrets.ts'
import type { NodeSecrets } from '../../files/secrets.ts'
import { openStore } from '../../store/database/open.ts'
import type { Store } from '../../store/database/store.ts'
import { makeSeal } from '../../store/seal.ts'
import type { Seal } from '../../store/seal.ts'

export type OpenPlatform = { config: Config; store: Store; secrets: NodeSecrets; seal: Seal }

export async function withPlatform<T>(run: (platform: OpenPlatform) => Promise<T>): Promise<T> {
  const config = readConfig(process.env)
  const secrets = readSecrets(config)
  const store = await openStore(config)
  try {
    return await run({ config, store, secrets, seal: makeSeal(secrets.masterKey) })
  } finally {
    await store.close()
  }
}
