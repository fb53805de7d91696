import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Session } from '../transports/transport.ts'
import { ExtraSessions, linesWanted } from './extra-sessions.ts'

const MANY = { lines: 1, files: 500, octets: 500 * 10_240, answerMs: 100, stuck: false }
const MINUTE = 60_000

test('the longer the partner takes to answer, the more lines are worth it, up to a limit', () => {
  assert.equal(linesWanted(undefined, { ...MANY, answerMs: undefined }), 1)
  assert.equal(linesWanted(undefined, { ...MANY, answerMs: 20 }), 4)
  assert.equal(linesWanted(undefined, MANY), 16)
  assert.equal(linesWanted(undefined, { ...MANY, answerMs: 1000 }), 16)
})

test('a partner that answers at once gets a line more for each 64 small files', () => {
  const prompt = { ...MANY, answerMs: 2 }
  assert.equal(linesWanted(undefined, { ...prompt, files: 2000, octets: 2000 * 10_240 }), 16)
  assert.equal(linesWanted(undefined, prompt), 8)
  assert.equal(linesWanted(undefined, { ...prompt, files: 130, octets: 130 * 10_240 }), 3)
  assert.equal(linesWanted(undefined, { ...prompt, files: 63, octets: 63 * 10_240 }), 1)
  assert.equal(linesWanted(undefined, { ...prompt, octets: 500 * 2 ** 30 }), 1)
  assert.equal(linesWanted(undefined, { ...prompt, lines: 4, files: 10, octets: 102_400 }), 4)
})

test('few files, or big ones, are not worth a second line by themselves', () => {
  assert.equal(linesWanted(undefined, { ...MANY, files: 8, octets: 80_000 }), 1)
  assert.equal(linesWanted(undefined, { ...MANY, octets: 500 * 2 ** 30 }), 1)
  assert.equal(linesWanted(undefined, { ...MANY, files: 0, octets: 0, lines: 4 }), 4)
})

test('where every line is busy with a big file, another transfer is worth one more', () => {
  const stuck = { ...MANY, files: 1, octets: 10, answerMs: undefined, stuck: true }
  assert.equal(linesWanted(undefined, stuck), 2)
  assert.equal(linesWanted(undefined, { ...stuck, lines: 16 }), 16)
  assert.equal(linesWanted(1, stuck), 1)
})

test('what the contact says is used as far as there are files', () => {
  assert.equal(linesWanted(1, MANY), 1)
  assert.equal(linesWanted(4, { ...MANY, answerMs: undefined }), 4)
  assert.equal(linesWanted(8, { ...MANY, files: 2, octets: 2 ** 40 }), 3)
})

function session() {
  const over = new AbortController()
  return { ended: over.signal, end: () => over.abort() } as unknown as Session & { end(): void }
}

test('no more are open than are allowed, those of others counted', async () => {
  const extra = new ExtraSessions(() => 0)
  const one = session()
  const open = (allowed: number | undefined, others: number, made = session()) =>
    extra.open('acme', { allowed, others }, () => Promise.resolve(made))
  assert.equal(await open(1, 1), 'no room')
  assert.equal(await open(2, 1, one), one)
  assert.equal(await open(2, 1), 'no room')
  one.end()
  const another = session()
  assert.equal(await open(2, 1, another), another)
  assert.equal(extra.all().length, 1)
})

test('a refusal is remembered as the number that was open then, and forgotten after a while', async () => {
  let now = 0
  const extra = new ExtraSessions(() => now)
  const open = (made: () => Promise<Session>) => extra.open('acme', { allowed: 8, others: 1 }, made)
  const one = session()
  assert.equal(await open(() => Promise.resolve(one)), one)
  assert.equal(await open(() => Promise.reject(new Error('no more'))), 'refused')
  let asked = false
  const another = session()
  const ask = () => {
    asked = true
    return Promise.resolve(another)
  }
  assert.equal(await open(ask), 'no room')
  assert.equal(asked, false)
  now += 16 * MINUTE
  assert.equal(await open(ask), another)
})

test('of several calls at once one is turned away: what is remembered is what was let in beside it', async () => {
  const extra = new ExtraSessions(() => 0)
  const open = (made: () => Promise<Session>) => extra.open('acme', { allowed: 8, others: 1 }, made)
  const answers = [1, 2, 3].map(() => Promise.withResolvers<Session>())
  const opening = answers.map(({ promise }) => open(() => promise))
  answers[1]?.reject(new Error('no more'))
  assert.equal(await opening[1], 'refused')
  const first = session()
  answers[0]?.resolve(first)
  answers[2]?.resolve(session())
  await Promise.all(opening)
  assert.equal(extra.all().length, 2)
  first.end()
  assert.notEqual(await open(() => Promise.resolve(session())), 'no room')
  assert.equal(await open(() => Promise.resolve(session())), 'no room')
})
