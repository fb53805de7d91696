// What nodes tell of themselves, and of others that fell silent.

import { VERSION } from '../../root.ts'
import type { Db, Tx } from '../database/store.ts'
import { addEvent, addEvents } from './outbox.ts'

export async function tellNode(
  tx: Tx,
  { type, node, now }: { type: 'node.started' | 'node.stopped'; node: string; now: number },
): Promise<void> {
  if (type === 'node.stopped') await addEvent(tx, { type, at: now, data: { node } })
  else await addEvent(tx, { type, at: now, data: { node, version: VERSION } })
}

/** A look without a lock: an idle node must not write at every tick. */
export async function hasLostNodes(db: Db, silentSince: number): Promise<boolean> {
  const row = await db
    .selectFrom('sign_of_life')
    .select('owner')
    .where('alive_until', '<', silentSince)
    .where('lost', '=', 0)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** An engine that stops takes its sign of life away; one that is still there, and old, was lost. Told once. */
export async function tellLostNodes(tx: Tx, silentSince: number, now: number): Promise<void> {
  const lost = await tx
    .updateTable('sign_of_life')
    .set({ lost: 1 })
    .where('alive_until', '<', silentSince)
    .where('lost', '=', 0)
    .returning('owner')
    .execute()
  await addEvents(
    tx,
    // The last part counts the starts of the engine's thread.
    lost.map(({ owner }) => ({ type: 'node.lost', at: now, data: { node: owner.replace(/-\d+$/, '') } })),
  )
}
