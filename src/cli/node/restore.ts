// `esclusa restore FILE`: puts a backup in place while no node runs, and says what a person must decide.

import { existsSync } from 'node:fs'
import { keptHead } from '../../audit/sealer.ts'
import type { Manifest } from '../../backup/manifest.ts'
import { restore } from '../../backup/restore.ts'
import { asideFolder } from '../../backup/workplace.ts'
import { readConfig } from '../../config.ts'
import type { Config } from '../../config.ts'
import { NodeError } from '../../errors.ts'
import { undecidedTransfers } from '../../store/after-restore.ts'
import { masterPath, readMasterKey } from '../../files/secrets.ts'
import type { Store } from '../../store/database/store.ts'
import { undecidedFiles } from '../../store/held-files.ts'
import { makeSeal } from '../../store/seal.ts'
import { opens, sealedValues } from '../../store/sealed-values.ts'
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
  say(`restored the backup made ${new Date(manifest.madeAt).toISOString()} by Esclusa ${manifest.version}`)
  say(
    `what it took the place of lies in ${asideFolder(config.dataDir, before)}${config.databaseUrl ? ` and in the schema ${before}` : ''}`,
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

/**
 * With another master key the platform would start and fail at its first session. Values that only a further key opens
 * are told: one that nobody can open any more must not keep the rest from being restored.
 */
async function secretsOpen(config: Config, store: Pick<Store, 'db'>, unpacked: string): Promise<void> {
  const kept = config.masterKey !== undefined || existsSync(masterPath(unpacked))
  const seal = kept ? makeSeal(readMasterKey({ ...config, dataDir: unpacked })) : undefined
  const shut: string[] = []
  let opened = 0
  for await (const value of sealedValues(store.db)) {
    if (seal === undefined)
      throw new NodeError(
        'bad_use',
        'the backup holds no master key: it was made of a node with ESCLUSA_MASTER_KEY; set it to the same',
      )
    if (opens(seal, value)) opened++
    else shut.push(value.place)
  }
  if (shut.length === 0) return
  const which = `${shut.slice(0, 3).join(', ')}${shut.length > 3 ? ' …' : ''}`
  const hint = 'the key that they were sealed with belongs into ESCLUSA_MASTER_KEY or ESCLUSA_MASTER_KEY_OLD'
  if (opened === 0)
    throw new NodeError(
      'bad_use',
      `nothing was changed: none of the ${shut.length} secrets opens (${which}): ${hint}`,
    )
  remark(`warning: ${shut.length} secrets do not open (${which}): ${hint}`)
}
