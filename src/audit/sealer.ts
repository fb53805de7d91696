// Puts the entries that were written into the chain, signs its head, and keeps the head in the data folder too: a
// database that was put back or cut shows by it. Looks once a second; what was written since is safe from then on.
//
// Entries enter the chain after their transaction, in one of the sealer's own, under a lock: writers never wait for
// each other, on however many nodes, and still there is one chain.

import { readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { throughDraft } from '../files/replace-text.ts'
import type { Log } from '../log.ts'
import { auditPoint, chainAudit, lockChain, openAudit, putAuditPoint } from '../store/audit.ts'
import type { AuditRecord, SignedPoint } from '../store/audit.ts'
import type { Store } from '../store/database/store.ts'
import { FIRST, FORGED, linkHash, pointText, textOf } from './chain.ts'
import type { Point } from './chain.ts'
import type { AuditKeys } from './keys.ts'
import { pruneAudit } from './retention.ts'
import type { AuditTrail } from './trail.ts'

const GROUP = 500
const LOOK_MS = 1000
const PRUNE_MS = 3_600_000

/** Everything that is open; the head if there was something. `tellForged` gets what this node's keys do not vouch for. */
export async function sealAudit(
  store: Store,
  keys: AuditKeys,
  now: number,
  tellForged: (entries: readonly AuditRecord[]) => void = () => {},
): Promise<SignedPoint | undefined> {
  let sealed: SignedPoint | undefined
  for (;;) {
    // Looked at without a lock first: an idle node writes nothing.
    if ((await openAudit(store.db, 1)).length === 0) return sealed
    let forged: AuditRecord[] = []
    sealed = await store.write(async (tx) => {
      await lockChain(tx, store.dialect)
      const before = await auditPoint(tx, 'last')
      const rows = await openAudit(tx, GROUP)
      if (rows.length === 0) return before
      const chained = link(rows, before, keys)
      forged = chained.filter(({ mac }) => mac === FORGED)
      const end = chained.at(-1)
      const point = { seq: end?.seq ?? 0, hash: end?.hash ?? '', at: now }
      const signed = { ...point, signature: keys.sign(pointText('last', point)) }
      await chainAudit(tx, chained)
      await putAuditPoint(tx, 'last', signed)
      return signed
    })
    if (forged.length > 0) tellForged(forged)
  }
}

/** What whoever runs the nodes is to do about entries that are marked. */
export function warnOfForged(log: Pick<Log, 'warn'>): (entries: readonly AuditRecord[]) => void {
  return (entries) =>
    log.warn(
      {
        entries: entries.length,
        first: entries[0]?.id,
        nodes: [...new Set(entries.map(({ node }) => node))],
      },
      'audit entries are marked as not by the node: a node named here has another master key (stop it, give it the master-key and jwt-secret of the others), or somebody wrote to the database',
    )
}

export function link(
  rows: readonly AuditRecord[],
  before: Point | undefined,
  keys: AuditKeys,
): AuditRecord[] {
  let { seq, hash } = before ?? { seq: 0, hash: FIRST }
  return rows.map((row) => {
    // One that the node did not write gets its place too, marked: that it was there is part of the story.
    const mac = keys.isMac(textOf(row), row.mac) ? row.mac : FORGED
    const marked = { ...row, mac, seq: ++seq }
    hash = linkHash(hash, seq, marked)
    return { ...marked, hash }
  })
}

export type SealerParts = {
  store: Store
  trail: AuditTrail
  log: Log
  dataDir: string
  /** Entries older than this many days are taken away; undefined: never. */
  keepDays: number | undefined
  now: () => number
}

export type Sealer = { stop(): Promise<void> }

export function startSealer({ store, trail, log, dataDir, keepDays, now }: SealerParts): Sealer {
  let running: Promise<void> | undefined
  let prunedAt = 0
  const look = async () => {
    const head = await sealAudit(store, trail.keys, now(), warnOfForged(log))
    if (head) keepHead(dataDir, head)
    if (keepDays === undefined || now() - prunedAt < PRUNE_MS) return
    prunedAt = now()
    await pruneAudit(store, trail, now() - keepDays * 86_400_000, now())
  }
  const run = () => {
    running ??= look()
      .catch((thrown: unknown) => log.warn({ err: thrown }, 'the audit trail could not be sealed'))
      .finally(() => (running = undefined))
    return running
  }
  const timer = setInterval(() => void run(), LOOK_MS)
  return {
    stop: async () => {
      clearInterval(timer)
      await running
      await run()
    },
  }
}

const HEAD_FILE = 'audit-head.json'

/**
 * Whole under another name first: a head that is half written would say that the trail was tampered with. Its new name is
 * not synced: an older head vouches for less, and for nothing that is not so.
 */
export function keepHead(dataDir: string, head: Point): void {
  const path = join(dataDir, HEAD_FILE)
  throughDraft(path, `${JSON.stringify(head)}\n`, (draft) => renameSync(draft, path))
}

/** The last head that this node has seen. */
export function keptHead(dataDir: string): Point | undefined {
  try {
    return JSON.parse(readFileSync(join(dataDir, HEAD_FILE), 'utf8')) as Point // written by keepHead alone
  } catch {
    return undefined
  }
}
