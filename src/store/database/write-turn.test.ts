import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { setImmediate as turnEnds } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { sharedWords } from './commit-count.ts'
import { writeTurnOf } from './write-turn.ts'

const ASKS = `
  const { workerData: { module, file, had } } = require('node:worker_threads')
  import(module).then(({ writeTurnOf }) => {
    const end = writeTurnOf(file).take()
    Atomics.store(had, 0, 1)
    end()
  })`

test('a thread that ends its turn and asks again comes behind one that has asked meanwhile', async () => {
  const file = 'in turns'
  const turn = writeTurnOf(file)
  const end = turn.take()
  const had = new Int32Array(new SharedArrayBuffer(4))
  const module = new URL('write-turn.ts', import.meta.url).href
  const other = new Worker(ASKS, { eval: true, workerData: { module, file, had } })
  const words = sharedWords(`esclusa writes to ${file}`, 2)
  while (Atomics.load(words, 0) < 2) await turnEnds()
  assert.equal(Atomics.load(had, 0), 0)
  end()
  const ended = turn.take()
  assert.equal(Atomics.load(had, 0), 1)
  ended()
  await once(other, 'exit')
})

test('a turn that does not end, as of a thread that died, holds up nobody for good', () => {
  const turn = writeTurnOf('left behind')
  const left = turn.take()
  const end = turn.take()
  left()
  end()
  turn.take()()
  const words = sharedWords('esclusa writes to left behind', 2)
  assert.deepEqual([...words], [3, 3])
})

test('files have turns of their own', () => {
  const ends = [writeTurnOf('one').take(), writeTurnOf('another').take()]
  for (const end of ends) end()
})
