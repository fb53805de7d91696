// A partner keeps its session open between two transfers. What this end wants to send meanwhile goes at once, whoever
// called: it asks for the turn, or calls by itself. What is seen on the line shows it, not the clock: a session that is
// never ended has not idled out.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { closeAfter, waitFor } from '../support/harness.ts'
import { startPair } from './pair.ts'
import type { Pair, Relation, RelationEnd, Side } from './pair.ts'
import type { TappedCall } from './wire-tap.ts'
import { WireTap } from './wire-tap.ts'

type CallingEnd = 'LOCAL' | 'REMOTO' | 'INDISTINTO'
type Scene = { pair: Pair; relation: Relation; taps: Record<Side, WireTap> }

/** Two ends of their own, each calling through a tap. */
async function startScene(
  t: TestContext,
  pair: Pair,
  ends: Record<Side, CallingEnd>,
  oftp2: RelationEnd['oftp2'] = {},
): Promise<Scene> {
  const taps = {
    left: await WireTap.open(pair.right.plainPort),
    right: await WireTap.open(pair.left.plainPort),
  }
  for (const tap of Object.values(taps)) closeAfter(t, () => tap.close())
  const end = (side: Side): RelationEnd => ({
    port: taps[side].port,
    oftp2: side === 'left' ? oftp2 : {},
    channels: { FILES: { connection: { advancedConfigurationConnection: { callingEnd: ends[side] } } } },
  })
  const relation = await pair.relate(() => ({ left: end('left'), right: end('right') }))
  return { pair, relation, taps }
}

async function sendFile({ pair, relation }: Scene, from: Side, name: string): Promise<void> {
  await pair.put(relation, from, 'FILES', name, name)
  const id = await pair.send(from, relation.code(from, 'FILES'))
  const { state, error } = await pair.ended(from, id)
  assert.equal(state, 'COMPLETED', error ?? '')
}

/** The called end has delivered its receipts and given the turn back: the caller has it, and nothing to say. */
async function rests({ taps }: Scene, caller: Side): Promise<TappedCall> {
  const resting = () => {
    const [call] = taps[caller].calls
    return call?.words.at(-1) === 'called CD' ? call : undefined
  }
  return waitFor('the session to rest', resting) as Promise<TappedCall>
}

const ROWS: readonly (readonly [Side, CallingEnd, CallingEnd])[] = [
  ['left', 'LOCAL', 'REMOTO'],
  ['left', 'INDISTINTO', 'INDISTINTO'],
  ['left', 'INDISTINTO', 'REMOTO'],
  ['right', 'REMOTO', 'LOCAL'],
  ['right', 'INDISTINTO', 'INDISTINTO'],
]

test('a partner keeps its session: what the other end has goes at once, in it or by a call of its own', async (t) => {
  const pair = await startPair(t)
  for (const [caller, left, right] of ROWS)
    await t.test(`the ${caller} end called, ${left} and ${right}: the other end gets the turn`, async () => {
      const scene = await startScene(t, pair, { left, right })
      const other = caller === 'left' ? 'right' : 'left'
      await sendFile(scene, caller, 'first.txt')
      const call = await rests(scene, caller)
      const before = call.words.length
      await sendFile(scene, other, 'answer.txt')
      assert.deepEqual(call.words.slice(before, before + 3), ['called wish', 'caller CD', 'called SFID'])
      assert.equal(scene.taps[caller].calls.length, 1)
      assert.equal(scene.taps[other].calls.length, 0)
      await sendFile(scene, caller, 'second.txt')
    })
  await t.test('a partner of the standard alone cannot be asked: this end calls', async () => {
    const scene = await startScene(t, pair, { left: 'INDISTINTO', right: 'INDISTINTO' }, { user: 'OTHER' })
    await sendFile(scene, 'left', 'first.txt')
    const call = await rests(scene, 'left')
    await sendFile(scene, 'right', 'answer.txt')
    assert.equal(scene.taps.right.calls.length, 1)
    assert.ok(!call.words.includes('called wish'), call.words.join(', '))
  })
})

test('a transfer that meets a kept session whose line has died calls anew, and that counts as no attempt', async (t) => {
  const scene = await startScene(t, await startPair(t), { left: 'LOCAL', right: 'REMOTO' })
  const { pair, relation, taps } = scene
  // The line shows that it is dead only to whoever says something on it.
  taps.left.breakNext({ from: 'caller', kind: 'SFID', nth: 2, inside: true })
  await sendFile(scene, 'left', 'first.txt')
  await rests(scene, 'left')
  await pair.put(relation, 'left', 'FILES', 'second.txt', 'second')
  // The channel has no retries.
  const { state, attempts, error } = await pair.ended(
    'left',
    await pair.send('left', relation.code('left', 'FILES')),
  )
  assert.deepEqual([state, attempts, error], ['COMPLETED', 0, null])
  assert.deepEqual(
    taps.left.calls.map((call) => [call.broken, call.count('caller', 'SFID')]),
    [
      [true, 2],
      [false, 1],
    ],
  )
  assert.equal((await pair.arrived(relation, 'right', 'FILES', 'second.txt')).toString(), 'second')
  const failed = (await pair.history('left', relation.code('left', 'FILES'))).filter(
    ({ event }) => event === 'TRANSFER_FAILED',
  )
  assert.deepEqual(failed, [])
})
