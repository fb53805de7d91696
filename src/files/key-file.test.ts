import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempFolder } from '../../test/support/harness.ts'
import { exchangeKey, keepOld, oldKeys, ringOfFile } from './key-file.ts'
import { readSecrets } from './secrets.ts'

const HOUR = 3_600_000

test('a ring takes a new key up within a second, and keeps the one before until its time is over', async (t) => {
  const dataDir = await tempFolder(t)
  const { masterKey: first } = readSecrets({ dataDir, masterKey: undefined, jwtSecret: undefined })
  const path = join(dataDir, 'master-key')
  let now = 1_000_000_000_000
  const ring = ringOfFile(path, () => now)
  const second = exchangeKey(path, 32, { now, until: now + HOUR })
  assert.equal(ring.current(), first, 'not looked yet')
  now += 1000
  assert.deepEqual([ring.current(), ring.older()], [second, [first]])
  const third = exchangeKey(path, 32, { now, until: now + 2 * HOUR })
  ring.refresh()
  assert.deepEqual([ring.current(), ring.older()], [third, [second, first]])
  now += HOUR
  assert.deepEqual(ring.older(), [second], 'the first has had its time')
  assert.equal(statSync(`${path}.old`).mode & 0o777, 0o600)
  const last = exchangeKey(path, 32, { now, until: now })
  ring.refresh()
  assert.deepEqual([ring.current(), ring.older()], [last, []], 'none before is good any more')
})

test('an exchange that stopped between its two writes has lost no key', async (t) => {
  const dataDir = await tempFolder(t)
  const { masterKey } = readSecrets({ dataDir, masterKey: undefined, jwtSecret: undefined })
  const path = join(dataDir, 'master-key')
  // As it stands after the first: the current key is an old one, too.
  keepOld(path, [{ key: masterKey, since: 1, until: Number.MAX_SAFE_INTEGER }])
  assert.deepEqual(ringOfFile(path).older(), [masterKey])
  const fresh = exchangeKey(path, 32, { now: 2, until: Number.MAX_SAFE_INTEGER })
  assert.deepEqual(
    oldKeys(path).map(({ key }) => key),
    [masterKey],
    'once',
  )
  assert.equal(readFileSync(path, 'utf8').trim(), fresh)
  keepOld(path, [])
  assert.equal(existsSync(`${path}.old`), false)
})

test('a key that an operator made, with spaces or lines in it, is found after its exchange', async (t) => {
  const path = join(await tempFolder(t), 'master-key')
  for (const made of ['a pass phrase of 2 times 16 octets', `${'A'.repeat(64)}\n${'B'.repeat(24)}`]) {
    writeFileSync(path, `${made}\n`)
    const second = exchangeKey(path, 32, { now: 1, until: 10 })
    exchangeKey(path, 32, { now: 2, until: 20 })
    assert.deepEqual(oldKeys(path), [
      { key: second, since: 2, until: 20 },
      { key: made, since: 1, until: 10 },
    ])
    keepOld(path, [])
  }
})
