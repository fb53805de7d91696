// `esclusa restore FILE`: puts a backup in place while no node runs, and says what a person must decide.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { keptHead } from '../../audit/sealer.ts'
import type { Manifest } from '../../backup/manifest.ts'
import { restore } from '../../backup/restore.ts'
import { readConfig } from '../../config.ts'
import type { Config } from '../../config.ts'
import { messageOf, NodeError } from '../../errors.ts'
import { undecidedTransfers } from '../../store/after-restore.ts'
import { ringOfFile } from '../../files/key-file.ts'
import { listChannels, openChannel } from '../../store/channels.ts'
import type { Store } from '../../store/database/store.ts'
import { undecidedFiles } from '../../store/held-files.ts'
import { makeSeal } from '../../store/seal.ts'
import { remark, say } from '../print.ts'
import { passphraseFor } from './backup.ts'
import { withPlatform } from './with-platform.ts'

export async function restoreFile(
  file: string,
  options: { replace?: boolean; keyFile?: string },
): Promise<void> {
  const config = readConfig(process.env)
  const passphrase = await passphraseFor(file, options)
  const { manifest, before } = await restore(file, {
    dataDir: config.dataDir,
    databaseUrl: config.databaseUrl,
    fileRoots: config.fileRoots,
    passphrase,
    replace: options.replace ?? false,
    check: (store, unpacked) => secretsOpen(config, store, unpacked),
    warn: (text) => remark(`warning: ${text}`),
    now: Date.now(),
  })
  const name = before.replace('before_restore_', 'before-restore-')
  say(`restored the backup made ${new Date(manifest.madeAt).toISOString()} by Esclusa ${manifest.version}`)
  say(
    `what it took the place of lies in ${join(config.dataDir, name)}${config.databaseUrl ? ` and in the schema ${before}` : ''}`,
  )
  await sayUndecided({ ...manifest, setAside: before })
}

async function sayUndecided({
  id,
  madeAt,
  version,
  setAside,
}: Manifest & { setAside: string }): Promise<void> {
  await withPlatform(async ({ config, store, audit, actor }) => {
    const facts = {
      backup: id,
      madeAt: new Date(madeAt).toISOString(),
      version,
      setAside,
      head: keptHead(config.dataDir),
    }
    await store.write((tx) => audit.add(tx, actor, [{ action: 'BACKUP_RESTORED', facts }]))
    const transfers = await undecidedTransfers(store.db)
    const files = await undecidedFiles(store.db)
    for (const { channelCode, id: transfer, files: count } of transfers)
      say(
        `to decide: transfer ${transfer} of ${channelCode}, ${count} files: esclusa retry ${channelCode}, or reset`,
      )
    if (files.length > 0) say(`to decide: files held: ${files.length}, see esclusa held`)
    if (transfers.length + files.length === 0) say('nothing is left to decide')
  })
}

/** With another master key the platform would start and fail at its first session. */
async function secretsOpen(config: Config, store: Pick<Store, 'db'>, unpacked: string): Promise<void> {
  const kept = join(unpacked, 'master-key')
  const masterKey = config.masterKey ?? (existsSync(kept) ? ringOfFile(kept) : undefined)
  for (const channel of await listChannels(store.db)) {
    if (Object.keys(channel.secrets).length === 0) continue
    if (masterKey === undefined)
      throw new NodeError(
        'bad_use',
        'the backup holds no master key: it was made of a node with ESCLUSA_MASTER_KEY; set it to the same',
      )
    try {
      return void openChannel(makeSeal(masterKey), channel)
    } catch (cause) {
      throw new NodeError('bad_use', `nothing was changed: ${messageOf(cause)}`, { cause })
    }
  }
}
