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
