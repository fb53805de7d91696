import assert from 'node:assert/strict'
import { test } from 'node:test'
import { QueryClient, QueryObserver } from '@tanstack/react-query'
import { readAgain } from './read-again.ts'

test(
  'a first read that was answered before the change is followed by another',
  { timeout: 60_000 },
  async () => {
    const queries = new QueryClient()
    const queryKey = ['channel', 'A-B-C', 'transfer', '1']
    const first = Promise.withResolvers<string>()
    let reads = 0
    const queryFn = () => (++reads === 1 ? first.promise : 'COMPLETED')
    const observer = new QueryObserver(queries, { queryKey, queryFn })
    const shown = Promise.withResolvers<void>()
    const stop = observer.subscribe(({ data, isFetching }) => {
      if (data === 'COMPLETED' && !isFetching) shown.resolve()
    })
    readAgain(queries)
    readAgain(queries, { predicate: ({ queryKey: [about] }) => about === 'channel' })
    first.resolve('IN_PROGRESS')
    await shown.promise
    stop()
    queries.clear()
    assert.equal(reads, 2)
  },
)

test('changes that come faster than answers do not keep what was read from being shown', async () => {
  const queries = new QueryClient()
  const queryKey = ['platform', 'overview']
  const answers: ((value: number) => void)[] = []
  const asked = () => new Promise<number>((resolve) => void answers.push(resolve))
  const shown = [1, 2, 3].map(() => Promise.withResolvers<void>())
  const observer = new QueryObserver(queries, { queryKey, queryFn: asked })
  const stop = observer.subscribe(({ data = 0 }) => shown[data - 1]?.resolve())
  answers[0]?.(1)
  await shown[0]?.promise
  readAgain(queries)
  for (let change = 0; change < 3; change++) readAgain(queries)
  assert.equal(answers.length, 2)
  answers[1]?.(2)
  await shown[1]?.promise
  answers[2]?.(3)
  await shown[2]?.promise
  stop()
  queries.clear()
  assert.equal(answers.length, 3)
})
