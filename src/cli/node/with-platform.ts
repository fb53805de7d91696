// Opens the database that the settings name, for a command that works on it directly, and closes it again.

import { mkdtempSync, rmSync } from 'node:fs'
import { hostname, tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { keepHead, sealAudit } from '../../audit/sealer.ts'
import { makeAuditTrail } from '../../audit/trail.ts'
import type { Actor, AuditTrail } from '../../audit/trail.ts'
import { readConfig } from '../../config.ts'
import type { Config } from '../../config.ts'
import { refuseHalfRestored } from '../../files/half-restored.ts'
import { makeDataFolder, requireOwnData } from '../../files/root-overlap.ts'
import { missingSecrets, readSecrets, requireMasterKey } from '../../files/secrets.ts'
import type { NodeSecrets } from '../../files/secrets.ts'
import { isEmptyPostgres, openStore } from '../../store/database/open.ts'
import type { Store } from '../../store/database/store.ts'
import { makeSeal } from '../../store/seal.ts'
import type { Seal } from '../../store/seal.ts'
import { requireKeyOf, usesMasterKey } from '../../store/sealed-values.ts'
import { hasNode, requireNode } from './data-folder.ts'

export type OpenPlatform = {
  config: Config
  store: Store
  secrets: NodeSecrets
  seal: Seal
  audit: AuditTrail
  /** Whoever runs the command, for the audit trail. */
  actor: Actor
}

const LEAST_PATIENCE_SECONDS = 30

export async function withPlatform<T>(
  run: (platform: OpenPlatform) => Promise<T>,
  options: { makes?: boolean; anyKey?: boolean; dryRun?: boolean | undefined } = {},
): Promise<T> {
  const config = readConfig(process.env)
  // With PostgreSQL and keys by settings there may be no data folder.
  if (config.databaseUrl === undefined) requireOwnData(config.dataDir)
  refuseHalfRestored(config.dataDir)
  await requireNode(config, options)
  // A command holds no leases: on a busy machine it may pause for longer than the shortest of them.
  const leaseSeconds = Math.max(config.leaseSeconds, LEAST_PATIENCE_SECONDS)
  // A dry run where there is no node yet has a data folder of its own, and leaves nothing; where PostgreSQL is empty, a
  // database in that folder, which is as empty.
  const isEmpty = options.dryRun === true && (await isEmptyPostgres({ ...config, leaseSeconds }))
  const passing =
    options.dryRun && (isEmpty || !hasNode(config))
      ? mkdtempSync(join(tmpdir(), 'esclusa-dry-run-'))
      : undefined
  const dataDir = passing ?? config.dataDir
  const databaseUrl = isEmpty ? undefined : config.databaseUrl
  if (databaseUrl === undefined) makeDataFolder(dataDir)
  let store: Store | undefined
  try {
    store = await openStore({ databaseUrl, dataDir, leaseSeconds })
    if (missingSecrets(config).master && (await usesMasterKey(store))) requireMasterKey(config)
    const secrets = readSecrets({ ...config, dataDir })
    const seal = makeSeal(secrets.master)
    if (!options.anyKey) await requireKeyOf(store.db, seal)
    const audit = makeAuditTrail(secrets.master, `${hostname()}-${process.pid}`, Date.now)
    const done = await run({
      config,
      store,
      secrets,
      seal,
      audit,
      actor: { who: callerName(), via: 'COMMAND', address: hostname() },
    })
    const head = await sealAudit(store, audit.keys, Date.now())
    if (head) keepHead(dataDir, head)
    return done
  } finally {
    await store?.close()
    if (passing !== undefined) rmSync(passing, { recursive: true, force: true })
  }
}

/** A user of a container often has a number and no name. */
function callerName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.()}`
  }
}
