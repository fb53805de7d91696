// `esclusa backup FILE` and `esclusa backup verify FILE`.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isSealed } from '../../backup/read-backup.ts'
import { verifyBackup } from '../../backup/verify-backup.ts'
import { writeBackup } from '../../backup/write-backup.ts'
import { readConfig } from '../../config.ts'
import { fromFileError, NodeError } from '../../errors.ts'
import { appliedNames, missing, ownMigrations } from '../../store/database/migrate.ts'
import { connectTo } from '../../store/database/open.ts'
import type { Store } from '../../store/database/store.ts'
import { readNewPassword, readPassword } from '../password-input.ts'
import { bytes, remark, say, sayJson } from '../print.ts'
import { withPlatform } from './with-platform.ts'

export type BackupOptions = { seal?: boolean; keyFile?: string; json?: boolean }

/** At least this many characters: whoever has the file can guess for as long as they like. */
const SHORTEST_PASSPHRASE = 12

const STOPS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

export async function backup(file: string, options: BackupOptions): Promise<void> {
  const config = readConfig(process.env)
  if (!config.databaseUrl && !existsSync(join(config.dataDir, 'esclusa.db')))
    throw new NodeError('bad_use', `there is no database in ${config.dataDir}: is ESCLUSA_DATA_DIR right?`)
  const passphrase = await newPassphrase(options)
  const store = await connectTo(config)
  const stopped = new AbortController()
  for (const signal of STOPS) process.once(signal, () => stopped.abort(signal))
  try {
    const { dataDir, fileRoots } = config
    const parts = { store, dataDir, fileRoots, passphrase, now: Date.now(), signal: stopped.signal }
    const made = await writeBackup(file, parts).catch((thrown: unknown) => {
      // Nothing is left of it. A script stops at Ctrl-C only if the command ends by the signal too.
      for (const signal of STOPS) if (stopped.signal.reason === signal) process.kill(process.pid, signal)
      throw thrown
    })
    for (const signal of STOPS) process.removeAllListeners(signal)
    if (options.json) sayJson({ file, sealed: passphrase !== undefined, ...made })
    else say(`${file}: the database and ${made.files} files of the data folder, ${bytes(made.bytes)}`)
    if (await isCurrent(store)) await note(file, passphrase !== undefined)
  } finally {
    await store.close()
  }
  if (passphrase === undefined)
    remark(
      'it holds the secrets of this platform and is not sealed: keep it as you keep those (or use --seal)',
    )
  const outside = [config.masterKey && 'ESCLUSA_MASTER_KEY', config.jwtSecret && 'ESCLUSA_JWT_SECRET'].filter(
    Boolean,
  )
  if (outside.length > 0)
    remark(
      `${outside.join(' and ')} ${outside.length > 1 ? 'are' : 'is'} not in it: keep what this node was given`,
    )
}

/** An older database is left as it is: a backup comes before an upgrade. */
async function isCurrent({ db }: Store): Promise<boolean> {
  return missing(ownMigrations(), await appliedNames(db)).length === 0
}

async function note(file: string, sealed: boolean): Promise<void> {
  await withPlatform(({ store, audit, actor }) =>
    store.write((tx) => audit.add(tx, actor, [{ action: 'BACKUP_MADE', facts: { file, sealed } }])),
  )
}

export async function verify(file: string, options: BackupOptions): Promise<void> {
  const { manifest, contents } = await verifyBackup(file, await passphraseFor(file, options))
  const made = new Date(manifest.madeAt).toISOString()
  const files = Object.keys(contents.entries).filter((name) => name.startsWith('data/')).length
  if (options.json) return sayJson({ ...manifest, madeAt: made, files, rows: contents.rows })
  say(`${file} is whole: made ${made} by Esclusa ${manifest.version} (${manifest.dialect}), ${files} files`)
}

async function newPassphrase(options: BackupOptions): Promise<string | undefined> {
  if (options.keyFile === undefined && !options.seal) return undefined
  const given =
    options.keyFile === undefined
      ? await readNewPassword('passphrase of the backup: ')
      : readKeyFile(options.keyFile)
  if (given.length < SHORTEST_PASSPHRASE)
    throw new NodeError('bad_use', `the passphrase must have at least ${SHORTEST_PASSPHRASE} characters`)
  return given
}

/** Asked for only where the backup is sealed. */
export async function passphraseFor(file: string, { keyFile }: BackupOptions): Promise<string | undefined> {
  if (!(await isSealed(file))) return undefined
  return keyFile === undefined ? readPassword('passphrase of the backup: ') : readKeyFile(keyFile)
}

/** One line break at its end is not part of the key. */
function readKeyFile(path: string): string {
  try {
    return readFileSync(path, 'utf8').replace(/\r?\n$/, '')
  } catch (thrown) {
    throw fromFileError(thrown, path)
  }
}
