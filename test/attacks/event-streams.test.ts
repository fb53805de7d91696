// Streams of live events: one user must not take them all, and whoever loses their rights sees no more.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { putAccount, findAccount } from '../../src/store/accounts.ts'
import { closeAfter } from '../support/harness.ts'
import { startBank } from './bank.ts'
import type { Bank } from './bank.ts'

async function openStreams(t: TestContext, bank: Bank, as: string, count: number): Promise<number[]> {
  const headers = { authorization: `Bearer ${await bank.token(as)}` }
  const cut = new AbortController()
  // Held until the end: fetch closes the stream of an answer that is collected as garbage.
  const answers: Response[] = []
  closeAfter(t, async () => {
    cut.abort()
    answers.length = 0
    await Promise.resolve()
  })
  const asked = Array.from({ length: count }, () =>
    fetch(`${bank.url}/connect-back/events`, { headers, signal: cut.signal }),
  )
  answers.push(...(await Promise.all(asked)))
  return answers.map(({ status }) => status)
}

test('an operator who opens streams without end shuts out neither other users nor the administrator', async (t) => {
  const bank = await startBank(t)
  const first = await openStreams(t, bank, 'luis', 520)
  assert.equal(first.filter((status) => status === 200).length, 32)
  assert.equal(first.filter((status) => status === 429).length, 488)
  assert.deepEqual(await openStreams(t, bank, 'root', 2), [200, 200])
  assert.deepEqual(await openStreams(t, bank, 'jefa', 1), [200])
})

test('many users together leave streams for the administrators', async (t) => {
  const bank = await startBank(t)
  const account = await findAccount(bank.store.db, 'luis')
  assert.ok(account)
  const names = Array.from({ length: 16 }, (_, at) => `crowd${at}`)
  await bank.store.write(async (tx) => {
    for (const username of names)
      await putAccount(tx, { ...account, username, email: `${username}@x.example` })
  })
  let open = 0
  for (const username of names)
    open += (await openStreams(t, bank, username, 32)).filter((status) => status === 200).length
  assert.equal(open, 450)
  assert.deepEqual(await openStreams(t, bank, 'luis', 1), [503])
  assert.deepEqual(await openStreams(t, bank, 'root', 1), [200])
})

test('the stream of a user who is disabled ends at once', async (t) => {
  const bank = await startBank(t)
  const account = await findAccount(bank.store.db, 'luis')
  assert.ok(account)
  const put = (disabled: boolean) => bank.store.write((tx) => putAccount(tx, { ...account, disabled }))
  const wentOnFor = async () => {
    await put(false)
    const headers = { authorization: `Bearer ${await bank.token('luis')}` }
    const answer = await fetch(`${bank.url}/connect-back/events`, { headers })
    assert.equal(answer.status, 200)
    const began = performance.now()
    // As `esclusa user disable` does it, past the node.
    await put(true)
    // Resolves when the stream ends.
    await answer.text()
    return performance.now() - began
  }
  // Every stream is looked at again after 15 seconds. On a slow machine that may come first now and then.
  const times: number[] = []
  while (times.length < 4 && !times.some((ms) => ms < 12_000)) times.push(await wentOnFor())
  assert.ok(
    times.some((ms) => ms < 12_000),
    `they went on for ${times.join(', ')} ms`,
  )
})

test('the stream of a user whose role may not see transfers any more ends, and a new one is refused', async (t) => {
  const bank = await startBank(t)
  const account = await findAccount(bank.store.db, 'luis')
  assert.ok(account)
  const headers = { authorization: `Bearer ${await bank.token('luis')}` }
  const signal = AbortSignal.timeout(60_000)
  const answer = await fetch(`${bank.url}/connect-back/events`, { headers, signal })
  assert.equal(answer.status, 200)
  await bank.store.write((tx) => putAccount(tx, { ...account, role: 'ROLE_CONTROLATOR' }))
  // Resolves when the stream ends.
  await answer.text()
  assert.equal((await fetch(`${bank.url}/connect-back/events`, { headers })).status, 403)
})
