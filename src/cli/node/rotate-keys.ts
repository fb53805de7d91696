// `esclusa keys rotate-master` and `rotate-jwt`: the keys of the house are exchanged beside running nodes, which take the
// new ones up by themselves. Interrupted anywhere, the old key is still there, and what is left to do is done by the next
// run or by a node's upkeep.

import { makeAuditKeys } from '../../audit/keys.ts'
import { sealAudit } from '../../audit/sealer.ts'
import { NodeError } from '../../errors.ts'
import { exchangeKey, readersOf } from '../../files/key-file.ts'
import { JWT_BYTES, jwtPath, MASTER_BYTES, masterPath } from '../../files/secrets.ts'
import type { Db } from '../../store/database/store.ts'
import { livingOwners, olderAtWork } from '../../store/transfers/signs-of-life.ts'
import { resealAll } from '../../upkeep/reseal.ts'
import { remark, say } from '../print.ts'
import { withPlatform } from './with-platform.ts'
import type { OpenPlatform } from './with-platform.ts'

export async function rotateMaster(): Promise<void> {
  await withPlatform(async (platform) => {
    const { config, store, seal, audit, secrets } = platform
    if (config.masterKey === undefined) await exchangeMaster(platform)
    else if (config.masterKeyOld === undefined)
      throw new NodeError(
        'bad_use',
        'the master key is given by ESCLUSA_MASTER_KEY: set the new one there and the old one as ESCLUSA_MASTER_KEY_OLD',
      )
    const renewed = await resealAll({ store, seal, auditKeys: audit.keys }, toTheEnd)
    say(`~ ${renewed} rows sealed with the new master key`)
    if (secrets.master.older().length === 0) return
    remark(
      config.masterKey === undefined
        ? 'the old key is kept for a day, for nodes that have not heard yet; then a node puts it away'
        : 'a node says in its log when ESCLUSA_MASTER_KEY_OLD can be taken out',
    )
  })
}

/** What is written to the trail before it is sealed with the old key. */
async function exchangeMaster({ config, store, audit, actor, secrets }: OpenPlatform): Promise<void> {
  const older = await olderAtWork(store.db, Date.now())
  if (older.length > 0)
    throw new NodeError(
      'conflict',
      `nodes are at work that would not take the new key up: ${older.map(({ owner, version }) => `${owner} (${version})`).join(', ')}; upgrade them first`,
    )
  const deaf = await notReading(store.db, masterPath(config.dataDir))
  if (deaf.length > 0)
    throw new NodeError(
      'conflict',
      `nodes are at work that take their master key from elsewhere than ${config.dataDir}, and could open nothing any more: ${deaf.join(', ')}; stop them, and copy master-key and master-key.old to them before they start`,
    )
  await sealAudit(store, audit.keys, Date.now())
  const before = makeAuditKeys(secrets.master.current()).publicKey
  exchangeKey(masterPath(config.dataDir), MASTER_BYTES, { now: Date.now(), until: Number.MAX_SAFE_INTEGER })
  secrets.master.refresh()
  // Whoever checks exports of the trail elsewhere finds here which key follows which.
  const facts = { auditKeyBefore: before, auditKey: audit.keys.publicKey }
  await store.write((tx) => audit.add(tx, actor, [{ action: 'MASTER_KEY_ROTATED', facts }]))
  say('+ a new master key')
}

/** Nodes at work that would not hear of another key in that file. */
async function notReading(db: Db, path: string): Promise<string[]> {
  const readers = new Set(readersOf(path))
  return [...(await livingOwners(db, Date.now()))].filter((node) => !readers.has(node))
}

async function toTheEnd(piece: () => Promise<boolean>): Promise<void> {
  while (await piece());
}

export async function rotateJwt(options: { endTokens?: boolean; liveHours: number }): Promise<void> {
  await withPlatform(async ({ config, store, audit, actor }) => {
    if (config.jwtSecret !== undefined)
      throw new NodeError(
        'bad_use',
        'the secret is given by ESCLUSA_JWT_SECRET: set a new one there; tokens of the one before end, unless it stands in ESCLUSA_JWT_SECRET_OLD',
      )
    const deaf = await notReading(store.db, jwtPath(config.dataDir))
    const now = Date.now()
    const until = options.endTokens ? now : now + options.liveHours * 3_600_000
    exchangeKey(jwtPath(config.dataDir), JWT_BYTES, { now, until })
    const facts = { tokensEndBy: new Date(until).toISOString() }
    await store.write((tx) => audit.add(tx, actor, [{ action: 'JWT_SECRET_ROTATED', facts }]))
    say('+ a new secret for tokens')
    remark(
      options.endTokens
        ? 'tokens made before have ended, on running nodes within a second or two'
        : `tokens made before live out, at most until ${new Date(until).toISOString()}`,
    )
    if (deaf.length > 0)
      remark(
        `warning: nodes that take their secret from elsewhere than ${config.dataDir} go on with the one before: ${deaf.join(', ')}; copy jwt-secret and jwt-secret.old to them, and start them again`,
      )
  })
}
