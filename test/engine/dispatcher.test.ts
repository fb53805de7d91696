// When the dispatcher looks for what is due. Its clock stands still here: it looks when it is woken, and for places that
// have become free.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setImmediate as turnEnds } from 'node:timers/promises'
import { PARKED } from '../../src/domain/transfer.ts'
import { Dispatcher } from '../../src/engine/scheduling/dispatcher.ts'
import { closeAfter } from '../support/harness.ts'
import { startRig } from './rig.ts'
import type { Rig } from './rig.ts'

let channels = 0

/** Transfers that are due, of a channel each. The dispatcher is not told. */
async function send(rig: Rig, contactId: string, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let nth = 0; nth < count; nth++) {
    const code = `BANCO-${contactId.toUpperCase()}-F${channels++}`
    const filePath = join(rig.place.files, code)
    await rig.putChannel(code, { directories: [{ direction: 'EMISION', filePath }] }, { contactId })
    await rig.put('a.txt', 'a', filePath)
    ids.push((await rig.send(code)).id)
  }
  return ids
}

/** A dispatcher on that rig whose runs last until they are ended. */
function lasting(t: TestContext, rig: Rig) {
  const running = new Map<string, () => void>()
  const dispatcher = new Dispatcher(rig.context, 1, {
    run: async ({ transfer: { id } }) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      running.set(id, resolve)
      await promise
      running.delete(id)
    },
    clear: () => Promise.resolve(),
  })
  t.mock.timers.enable({ apis: ['setTimeout'] })
  closeAfter(t, async () => {
    t.mock.timers.reset()
    for (const end of running.values()) end()
    await dispatcher.drain(0)
  })
  // Asked for at each look.
  const { mock } = t.mock.method(rig.context.heartbeat, 'ensure')
  const looks = () => mock.callCount()
  /** The event loop turns after each, so that a look that it causes has begun. */
  const end = async (ids: readonly string[]) => {
    for (const id of ids) {
      running.get(id)?.()
      await turnEnds()
    }
  }
  return { dispatcher, running, looks, end }
}

/** Waits for a condition, with no timer. */
async function until(what: string, condition: () => boolean): Promise<void> {
  for (const giveUpAt = performance.now() + 20_000; !condition(); await turnEnds())
    assert.ok(performance.now() < giveUpAt, `waited in vain for: ${what}`)
}

/** A dispatcher that has those transfers in hand, and others that are due, of which it was not told. */
async function withPlaces(t: TestContext, held: Record<string, number>, due: Record<string, number>) {
  const rig = await startRig(t)
  await rig.putContact({ id: 'near' })
  const ids: string[] = []
  for (const [contactId, count] of Object.entries(held)) ids.push(...(await send(rig, contactId, count)))
  const lasts = lasting(t, rig)
  lasts.dispatcher.start()
  await until('they are in hand', () => lasts.running.size === ids.length)
  for (const [contactId, count] of Object.entries(due)) await send(rig, contactId, count)
  const before = lasts.looks()
  return { ...lasts, ids, looks: () => lasts.looks() - before }
}

test('places that become free where the partner has others in hand are given anew together, eight at once', async (t) => {
  const { running, looks, end, ids } = await withPlaces(t, { acme: 10 }, { acme: 8 })
  await end(ids.slice(0, 7))
  assert.deepEqual([running.size, looks()], [3, 0])
  await end(ids.slice(7, 8))
  await until('the others are in hand', () => running.size === 10)
  assert.equal(looks(), 1)
})

test('fewer places than eight are given anew together after a moment', async (t) => {
  const { running, looks, end, ids } = await withPlaces(t, { acme: 10 }, { acme: 8 })
  await end(ids.slice(0, 3))
  assert.deepEqual([running.size, looks()], [7, 0])
  // The dispatcher's clock would make it look after a second.
  t.mock.timers.tick(100)
  await until('the others are in hand', () => running.size === 15)
  assert.equal(looks(), 1)
})

test('the last place of a partner is given anew at once, also while others are gathered', async (t) => {
  const { running, looks, end, ids } = await withPlaces(t, { acme: 5, near: 1 }, { near: 1 })
  await end(ids.slice(0, 1))
  assert.deepEqual([running.size, looks()], [5, 0])
  await end(ids.slice(-1))
  await until('the other one is in hand', () => running.size === 5)
  assert.equal(looks(), 1)
})

test('a wake that comes while the dispatcher reads what is due next is heard', async (t) => {
  const rig = await startRig(t)
  await send(rig, 'acme', 1)
  const dueAt = (due_at: number) =>
    rig.store.write((tx) => tx.updateTable('transfer').set({ due_at }).execute())
  await dueAt(PARKED)
  const answered = Promise.withResolvers<void>()
  let asked = false
  const db = rig.store.db.withPlugin({
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      const [row] = result.rows
      if (row && Object.keys(row).join() === 'due_at') {
        asked = true
        await answered.promise
      }
      return result
    },
  })
  rig.context.store = { ...rig.store, urgent: { ...rig.store.urgent, db } }
  const { dispatcher, running } = lasting(t, rig)
  dispatcher.start()
  await until('it reads that', () => asked)
  await dueAt(Date.now())
  dispatcher.wake()
  answered.resolve()
  await until('it runs', () => running.size === 1)
})
