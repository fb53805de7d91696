import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AuditRecord, SignedPoint } from '../store/audit.ts'
import { newId } from '../store/database/ids.ts'
import { linkHash, pointText, textOf } from './chain.ts'
import type { Point } from './chain.ts'
import { makeAuditKeys } from './keys.ts'
import { link } from './sealer.ts'
import { verifyTrail } from './verify.ts'

// The public key as it is now: to export it for every copy of the keys costs more than the checks.
const keys = { ...makeAuditKeys('a master key of the test, 32 bytes or more') }
const others = makeAuditKeys('another master key, as long as it must be')
const signed = (name: 'last' | 'start', point: Point): SignedPoint => ({
  ...point,
  signature: keys.sign(pointText(name, point)),
})

function rowOf(index: number): AuditRecord {
  const said = {
    id: newId(1_700_000_000_000 + index),
    at: 1_700_000_000_000 + index,
    node: 'node-1',
    who: index % 3 === 0 ? null : `user${index % 5}`,
    via: 'TOKEN' as const,
    tokenId: null,
    address: '127.0.0.1',
    action: index % 2 === 0 ? ('CHANNEL_CHANGED' as const) : ('TRANSFER_SENT' as const),
    outcome: 'DONE' as const,
    subjectKind: 'channel' as const,
    subject: 'BANCO-ACME-NOMINA',
    channelCode: 'BANCO-ACME-NOMINA',
    detail: JSON.stringify({ facts: { index } }),
  }
  return { ...said, mac: keys.mac(textOf(said)), seq: null, hash: null }
}

const ROWS = 24
const START = 4
const all = link(
  Array.from({ length: ROWS }, (_, index) => rowOf(index)),
  undefined,
  keys,
)
const pointAt = (seq: number): Point => ({ seq, hash: all[seq - 1]?.hash ?? '', at: seq })
const last = signed('last', pointAt(ROWS))
const start = signed('start', pointAt(START))
const kept = all.slice(START)

type Trail = { rows: AuditRecord[]; start: SignedPoint | undefined; last: SignedPoint | undefined }
const whole = (): Trail => ({ rows: kept.map((row) => ({ ...row })), start: { ...start }, last: { ...last } })

const signatures = new Map<string, boolean>()
/** Most attempts leave the signed points as they are: each signature is checked once for all of them. */
function isSigned(text: string, signature: string): boolean {
  const key = `${text} ${signature}`
  const known = signatures.get(key) ?? keys.isSigned(text, signature)
  signatures.set(key, known)
  return known
}

/** The database answers in the order of places, whatever order somebody wrote rows in. */
function check(trail: Trail) {
  const chain = trail.rows.filter(({ seq }) => seq !== null).toSorted((a, b) => (a.seq ?? 0) - (b.seq ?? 0))
  const open = trail.rows.filter(({ seq }) => seq === null)
  return verifyTrail(
    { chain, open, start: trail.start, last: trail.last, seen: [last] },
    { ...keys, isSigned },
  )
}

let state = 20_260_101
/** Mulberry32: the same attempts at every run. */
function random(): number {
  state = (state + 0x6d2b79f5) | 0
  let t = Math.imul(state ^ (state >>> 15), 1 | state)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
}
const below = (count: number) => Math.floor(random() * count)
const pick = <T>(some: readonly T[]): T => some[below(some.length)] as T

const TEXT_FIELDS = [
  'node',
  'who',
  'via',
  'address',
  'action',
  'outcome',
  'subject',
  'channelCode',
  'detail',
] as const

/** Makes the chain fit again after a change, as somebody would who knows how it is made but has no key. */
function rehash(trail: Trail): void {
  const macs = new Map(trail.rows.map((row) => [textOf(row), row.mac]))
  const noKey = { ...keys, mac: (text: string) => macs.get(text) ?? '' }
  trail.rows = link(trail.rows, { seq: START, hash: start.hash, at: 0 }, noKey)
}

const ATTEMPTS: Record<string, (trail: Trail) => void> = {
  change: ({ rows }) => {
    const row = pick(rows) as Record<string, unknown>
    const field = pick(TEXT_FIELDS)
    row[field] = `${String(row[field])}x`
  },
  'change the time': ({ rows }) => void (pick(rows).at += 1 + below(1000)),
  'change and hash anew': (trail) => {
    pick(trail.rows).who = `other${below(1000)}`
    rehash(trail)
  },
  delete: ({ rows }) => void rows.splice(below(rows.length), 1 + below(3)),
  'delete and number anew': (trail) => {
    trail.rows.splice(below(trail.rows.length - 1), 1)
    rehash(trail)
  },
  'exchange two': ({ rows }) => {
    const [a, b] = [below(rows.length - 1), rows.length - 1]
    const [one, other] = [rows[a], rows[b]] as [AuditRecord, AuditRecord]
    ;[one.seq, other.seq] = [other.seq, one.seq]
  },
  'exchange two whole': (trail) => {
    const at = below(trail.rows.length - 1)
    const [row] = trail.rows.splice(at, 1) as [AuditRecord]
    trail.rows.push(row)
    rehash(trail)
  },
  'insert into the chain': (trail) => {
    trail.rows.splice(below(trail.rows.length), 0, { ...rowOf(1000 + below(1000)), mac: 'AAAA' })
    rehash(trail)
  },
  'insert a copy': ({ rows }) => void rows.push({ ...pick(rows) }),
  'insert an open one': ({ rows }) =>
    void rows.push({ ...rowOf(below(1000)), who: 'somebody else', detail: `{"n":${below(1e6)}}` }),
  'cut the tail': ({ rows }) => void rows.splice(below(rows.length)),
  'cut the tail and the head': (trail) => {
    trail.rows.splice(below(trail.rows.length))
    trail.last = undefined
  },
  'go back to an earlier head': (trail) => {
    const seq = START + 1 + below(ROWS - START - 1)
    trail.rows.splice(seq - START)
    trail.last = signed('last', pointAt(seq)) // as a copy of the database from back then would have it
  },
  'sign by another key': (trail) => {
    trail.rows.splice(below(trail.rows.length))
    const end = trail.rows.at(-1)
    const point = { seq: end?.seq ?? START, hash: end?.hash ?? start.hash, at: 1 }
    trail.last = { ...point, signature: others.sign(pointText('last', point)) }
  },
  'forget the start': (trail) => void (trail.start = undefined),
  'begin later': (trail) => {
    const at = 1 + below(trail.rows.length - 1)
    const [row] = trail.rows.splice(0, at).slice(-1) as [AuditRecord]
    trail.start = { seq: row.seq ?? 0, hash: row.hash ?? '', at: 1, signature: start.signature }
  },
  'take one out of the chain': ({ rows }) => void Object.assign(pick(rows), { seq: null, hash: null }),
}

test('a trail that nobody touched is whole, with and without entries that wait and after retention', async () => {
  assert.deepEqual((await check(whole())).findings, [])
  const fresh = await verifyTrail({ chain: all, open: [rowOf(99)], start: undefined, last }, keys)
  assert.deepEqual({ ...fresh }, { whole: true, entries: ROWS, open: 1, from: 1, to: ROWS, findings: [] })
  assert.ok((await verifyTrail({ chain: [], open: [], start: undefined, last: undefined }, keys)).whole)
})

test('of 10,000 random attempts to tamper with the trail every one is found', async () => {
  const missed: string[] = []
  const names = Object.keys(ATTEMPTS)
  for (let attempt = 0; attempt < 10_000; attempt++) {
    const name = names[attempt % names.length] ?? ''
    const trail = whole()
    ATTEMPTS[name]?.(trail)
    if ((await check(trail)).whole) missed.push(`${attempt} ${name}`)
  }
  assert.deepEqual(missed, [])
})

/** Hashes as the node does, and leaves each row's MAC as it is: nobody without the key can make another. */
function hashAnew(rows: readonly AuditRecord[]): AuditRecord[] {
  let { seq, hash } = start
  return rows.map((row) => ({ ...row, seq: ++seq, hash: (hash = linkHash(hash, seq, row)) }))
}

test('a chain that fits in itself is still found by its signed head alone', async () => {
  const check = async (rows: readonly AuditRecord[], seen: readonly Point[] = []) => {
    const { findings } = await verifyTrail({ chain: hashAnew(rows), open: [], start, last, seen }, keys)
    return findings
  }
  assert.deepEqual(await check(kept), [])
  const changed = kept.map((row, at) => (at === 3 ? { ...row, who: 'eva' } : row))
  assert.deepEqual(await check(changed), [`the hash at place ${ROWS} is not the one that was signed`])
  assert.deepEqual(await check([...kept, rowOf(ROWS)]), [
    `the trail goes to place ${ROWS + 1}, but is signed only up to ${ROWS}`,
  ])
})

test('a head that was seen is compared with the place it was of, and one from before the start with nothing', async () => {
  const check = async (seen: Point) =>
    (await verifyTrail({ chain: kept, open: [], start, last, seen: [seen] }, keys)).findings
  assert.deepEqual(await check(pointAt(10)), [])
  assert.deepEqual(await check(pointAt(START - 1)), [])
  for (const seq of [START, 10])
    assert.deepEqual(await check({ ...pointAt(seq), hash: 'of another history' }), [
      `place ${seq} had another hash when this node signed it`,
    ])
})
