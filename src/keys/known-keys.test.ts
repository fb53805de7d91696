import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { makeTestKey } from '../../test/support/cms-keys.ts'
import type { TestKey } from '../../test/support/cms-keys.ts'
import { testOnBoth, withStore } from '../../test/support/harness.ts'
import { contactOf, seedChannel } from '../../test/support/seed.ts'
import { fixedKey } from '../domain/key-ring.ts'
import { removeChannels } from '../store/channel-batches.ts'
import { findChannel, openChannel, sealChannel, updateChannel } from '../store/channels.ts'
import { putContact, putLocalEntity } from '../store/contacts.ts'
import type { Store } from '../store/database/store.ts'
import { channelVersions } from '../store/keys/known-keys.ts'
import { makeSeal } from '../store/seal.ts'
import type { Seal } from '../store/seal.ts'
import { RESEAL_START, resealSome } from '../store/sealed-values.ts'
import type { ResealWalk } from '../store/sealed-values.ts'
import { chainBehind, ownCertificate, publicPartOf } from './key-facts.ts'
import { keysOfChannels, knownKeys, UNREADABLE } from './known-keys.ts'

const [OURS, THEIRS, NONE, DAMAGED] = [
  'BANCO-ACME-A',
  'BANCO-ACME-B',
  'BANCO-ACME-C',
  'BANCO-ACME-D',
] as const
const OLD = '0'.repeat(32)
let one: TestKey
let other: TestKey
let replaced: TestKey

before(async () => {
  one = await makeTestKey('One')
  other = await makeTestKey('Other')
  replaced = await makeTestKey('Replaced')
})

/** Written as any version writes channels: nothing is known of their keys yet. */
async function seed(store: Store): Promise<void> {
  const seal = makeSeal(OLD)
  await store.write(async (tx) => {
    await putLocalEntity(tx, { code: 'BANCO', name: 'Banco', oftp2Id: null })
    await putContact(tx, contactOf('acme', 'ACME', []))
    // Behind a key stand the chain of its certificate and a key of before, which is looked after no more.
    const rsaLocalKey = [one, other, replaced].flatMap((key) => [
      ...(key === other ? [] : [key.privateKeyPem]),
      key.certificatePem,
    ])
    await seedChannel(tx, seal, OURS, 'acme', { security: { rsaLocalKey: rsaLocalKey.join('\n') } })
    await seedChannel(tx, seal, THEIRS, 'acme', { security: { rsaRemoteKey: other.publicKeyPem } })
    await seedChannel(tx, seal, NONE, 'acme', {})
  })
}

/** What is read of all channels, and which places were opened for it. */
async function read(store: Store, seal: Seal = makeSeal(OLD)) {
  const opened: string[] = []
  const counting = {
    ...seal,
    open: (place: string, text: string) => {
      opened.push(place)
      return seal.open(place, text)
    },
  }
  const keys = await keysOfChannels({ store, seal: counting }, await channelVersions(store.db))
  return { keys, opened }
}

async function replaceKey(store: Store, code: string, rsaRemoteKey: string): Promise<void> {
  const seal = makeSeal(OLD)
  const channel = await findChannel(store.db, code)
  assert.ok(channel)
  const security = { ...openChannel(seal, channel).security, rsaRemoteKey }
  await store.write((tx) =>
    updateChannel(tx, { ...channel, ...sealChannel(seal, code, { ...channel.config, security }, channel) }),
  )
}

const fingerprint = (pem: string) => publicPartOf(pem)?.fingerprint

function certificate({ certificatePem }: TestKey) {
  const { fingerprint: found, subject, validTo } = publicPartOf(certificatePem) ?? {}
  return { side: 'LOCAL', fingerprint: found, subject, endsAt: validTo }
}

test('the certificate of the private key is the one that is shown, wherever its chain stands', () => {
  const [own, chain] = [one.certificatePem.trim(), other.certificatePem.trim()]
  const before = `${replaced.privateKeyPem}\n${replaced.certificatePem}`
  for (const order of [
    [one.privateKeyPem, own, chain],
    [one.privateKeyPem, chain, own],
    [chain, own, one.privateKeyPem],
    [chain, one.privateKeyPem, own, before],
  ]) {
    const pem = order.join('\n')
    assert.equal(ownCertificate(pem), own)
    assert.equal(fingerprint(pem), fingerprint(own))
    assert.deepEqual(chainBehind(pem), [chain])
  }
  // A partner's certificate stands in front of its chain.
  assert.equal(fingerprint(`${chain}\n${own}`), fingerprint(chain))
  // What belongs to other keys is not shown as ours.
  const none = [one.privateKeyPem, chain, replaced.certificatePem].join('\n')
  assert.equal(fingerprint(none), fingerprint(one.publicKeyPem))
})

testOnBoth(
  'what is public of keys is found out once, and again only of channels that were changed',
  async (t, database) => {
    const store = await withStore(t, database)
    await seed(store)
    const [first, ...others] = await Promise.all([read(store), read(store), read(store)])
    const opened = [first, ...others].flatMap((one) => one.opened)
    assert.deepEqual(opened.sort(), [`channel ${OURS} rsaLocalKey`, `channel ${THEIRS} rsaRemoteKey`])
    for (const { keys } of others) assert.deepEqual(keys, first.keys)
    assert.deepEqual(Object.fromEntries(first.keys), {
      [OURS]: [certificate(one), { ...certificate(other), isBehind: true }],
      [THEIRS]: [{ side: 'REMOTE', fingerprint: fingerprint(other.publicKeyPem) }],
      [NONE]: [],
    })
    const kept = await store.db.selectFrom('channel_keys').selectAll().orderBy('channel_code').execute()
    assert.deepEqual(
      kept.map((row) => row.channel_code),
      [OURS, THEIRS, NONE],
    )
    assert.doesNotMatch(JSON.stringify(kept), /BEGIN|PRIVATE/)
    assert.deepEqual((await read(store)).opened, [], 'later readers open none')

    // A node of the version before writes the channel alone: what is kept of it stays as it was, and counts no more.
    await replaceKey(store, THEIRS, one.certificatePem)
    const replaced = await read(store)
    assert.deepEqual(replaced.opened, [`channel ${THEIRS} rsaRemoteKey`])
    assert.equal(replaced.keys.get(THEIRS)?.[0]?.fingerprint, fingerprint(one.certificatePem))

    // Sealed anew they are the same keys.
    const renewed = '1'.repeat(32)
    const seal = makeSeal(fixedKey(renewed, [OLD]))
    let walk: ResealWalk | undefined = RESEAL_START
    while (walk) walk = await resealSome(store, seal, walk, 20)
    const resealed = await read(store, makeSeal(renewed))
    assert.deepEqual(resealed.opened, [])
    assert.deepEqual(resealed.keys, replaced.keys)

    await store.write((tx) => removeChannels(tx, [THEIRS], { at: 1, detail: 'gone' }))
    const left = await store.db.selectFrom('channel_keys').select('channel_code').execute()
    assert.deepEqual(left.map((row) => row.channel_code).sort(), [OURS, NONE])
    await store.write(async (tx) => {
      await seedChannel(tx, makeSeal(renewed), THEIRS, 'acme', {
        security: { rsaRemoteKey: one.publicKeyPem },
      })
      // Somebody who had read the channel before writes late. This one has its code and its revision.
      const before = kept.filter((row) => row.channel_code === THEIRS)
      await tx.insertInto('channel_keys').values(before).execute()
    })
    const anew = await read(store, makeSeal(renewed))
    assert.equal(anew.keys.get(THEIRS)?.[0]?.fingerprint, fingerprint(one.publicKeyPem))
  },
)

testOnBoth(
  'a key that does not open hides no other, and is read as soon as it opens',
  async (t, database) => {
    const store = await withStore(t, database)
    await seed(store)
    await store.write((tx) =>
      seedChannel(tx, makeSeal('1'.repeat(32)), DAMAGED, 'acme', {
        security: { rsaLocalKey: one.privateKeyPem, rsaRemoteKey: other.publicKeyPem },
      }),
    )
    const { keys } = await read(store)
    assert.deepEqual(
      keys.get(DAMAGED),
      ['LOCAL', 'REMOTE'].map((side) => ({ side, fingerprint: '', unreadable: UNREADABLE })),
    )
    assert.equal(keys.get(OURS)?.[0]?.fingerprint, fingerprint(one.certificatePem))
    const kept = async () => {
      const codes: string[] = []
      for await (const some of knownKeys(store.db)) codes.push(...some.map(({ code }) => code))
      return codes
    }
    assert.deepEqual(await kept(), [OURS, THEIRS, NONE], 'what is not known is not kept')

    const mended = await read(store, makeSeal(fixedKey('1'.repeat(32), [OLD])))
    assert.equal(mended.keys.get(DAMAGED)?.[1]?.fingerprint, fingerprint(other.publicKeyPem))
    assert.deepEqual(await kept(), [OURS, THEIRS, NONE, DAMAGED])
  },
)
