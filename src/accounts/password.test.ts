import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashPassword, isPasswordHash, verifyPassword } from './password.ts'

test('a password is kept as Argon2id with a salt of its own, and only it verifies', async () => {
  const hash = await hashPassword('contraseña secreta')
  assert.match(hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
  assert.notEqual(hash, await hashPassword('contraseña secreta'))
  assert.equal(await verifyPassword('contraseña secreta', hash), true)
  assert.equal(await verifyPassword('contraseña secretA', hash), false)
  assert.equal(await verifyPassword('', hash), false)
})

/** CPU time of a refusal, the least of five. */
async function spent(stored: string | null | undefined): Promise<number> {
  let best = Number.POSITIVE_INFINITY
  for (let i = 0; i < 5; i++) {
    const from = process.cpuUsage()
    assert.equal(await verifyPassword('wrong', stored), false)
    const { user, system } = process.cpuUsage(from)
    best = Math.min(best, user + system)
  }
  return best
}

test('without a hash nothing verifies, and the work is done all the same', async () => {
  const hash = await hashPassword('a password that is long')
  const real = await spent(hash)
  // Skipping the work would make it hundreds of times cheaper; a half leaves room for a busy machine.
  for (const stored of [null, undefined]) assert.ok((await spent(stored)) > real / 2)
})

test('a text that is no hash verifies nothing', async () => {
  for (const text of ['', 'plain', '$argon2i$v=19$m=19456,t=2,p=1$AAAA$AAAA', '$2b$10$abc']) {
    assert.equal(isPasswordHash(text), false)
    assert.equal(await verifyPassword('plain', text), false)
  }
})

test('many at once all get their answer', async () => {
  const hash = await hashPassword('a password that is long')
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, i) => verifyPassword(i % 2 ? 'no' : 'a password that is long', hash)),
  )
  assert.deepEqual(
    answers,
    Array.from({ length: 12 }, (_, i) => i % 2 === 0),
  )
})
