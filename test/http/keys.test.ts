// Keys of channels through the platform operations: what svcFF shows, what signer makes, accepts and refuses.

import assert from 'node:assert/strict'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { decryptBuffer, encryptBuffer } from '../../src/engine/transforms/cms/messages.ts'
import { generateSelfSigned } from '../../src/engine/transforms/cms/self-signed.ts'
import { publicPartOf } from '../../src/keys/key-facts.ts'
import type { ChannelKeys, KeyInUse, ProposedKey } from '../../src/contract/administration/keys.ts'
import { putAccount } from '../../src/store/accounts.ts'
import { findChannel, openChannel, pageOfHistory } from '../../src/store/channels.ts'
import { makePlatform } from '../../src/http/platform/operations.ts'
import { insertKeyProposal, listKeyProposals } from '../../src/store/keys/proposals.ts'
import { beforeNextWrite, startTestHttp, testOnBoth } from '../support/harness.ts'
import type { TestNode } from '../support/harness.ts'
import { accountOf, CLOSED, FULL, PLAIN, SECRETS } from '../support/seed.ts'
import { callPlatform } from '../support/call.ts'

const partner = await generateSelfSigned({ commonName: 'Acme SA', bits: 2048 })
const fingerprint = new X509Certificate(partner.certificatePem).fingerprint256
  .replaceAll(':', '')
  .toLowerCase()

async function propose(
  node: TestNode,
  id: string,
  channelCode = FULL,
  contactId = 'acme',
  shown = fingerprint,
) {
  const pem = partner.certificatePem
  await node.store.write((tx) =>
    insertKeyProposal(tx, {
      id,
      contactId,
      channelCode,
      pem,
      fingerprint: shown,
      receivedAt: node.context.now(),
    }),
  )
}

async function keyOf(node: TestNode, code: string, field: 'rsaLocalKey' | 'rsaRemoteKey') {
  const channel = await findChannel(node.store.db, code)
  return channel && openChannel(node.context.seal, channel).security?.[field]
}

async function auditActions({ store }: TestNode): Promise<string[]> {
  const rows = await store.db
    .selectFrom('audit')
    .select(['action', 'who'])
    .where('action', 'like', 'KEY%')
    .orderBy('id')
    .execute()
  return rows.map(({ action, who }) => `${action} ${who}`)
}

testOnBoth(
  'a proposed key is accepted by its fingerprint, once, on all channels of the partner',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    await propose(node, 'k1')
    await propose(node, 'k2')
    assert.equal((await listKeyProposals(node.store.db)).length, 1, 'the same key waits once')
    const listed = await callPlatform(node, 'listProposedKeys', 'adminff')
    const [shown] = (listed.body as { content: ProposedKey[] }).content
    assert.deepEqual(
      [shown?.id, shown?.state, shown?.fingerprint, shown?.subject, shown?.contactName, shown?.bits],
      ['k1', 'WAITING', fingerprint, 'CN=Acme SA', 'acme SA', 2048],
    )
    const params = { keyId: 'k1' }
    const wrong = await callPlatform(node, 'acceptProposedKey', 'adminff', {
      params,
      body: { fingerprint: 'ab'.repeat(32) },
    })
    assert.equal(wrong.status, 409)
    assert.match(wrong.text, /another fingerprint/)
    assert.equal(await keyOf(node, PLAIN, 'rsaRemoteKey'), undefined)
    const spelled = fingerprint.toUpperCase().replaceAll(/(..)(?=.)/g, '$1:')
    const body = { fingerprint: spelled }
    const both = await Promise.all([
      callPlatform(node, 'acceptProposedKey', 'adminff', { params, body }),
      callPlatform(node, 'acceptProposedKey', 'globaladmin', { params, body }),
      callPlatform(node, 'refuseProposedKey', 'admin', { params }),
    ])
    assert.deepEqual(
      both.map(({ status }) => status).toSorted((a, b) => a - b),
      [200, 409, 409],
      'of three who decide at once one does',
    )
    const [decided] = (await callPlatform(node, 'listProposedKeys', 'adminff')).body.content as ProposedKey[]
    const accepted = decided?.state === 'ACCEPTED'
    for (const code of [PLAIN, FULL])
      assert.equal((await keyOf(node, code, 'rsaRemoteKey')) === partner.certificatePem, accepted)
    assert.equal((await auditActions(node)).length, 1)
    assert.equal(
      (await auditActions(node))[0],
      `${accepted ? 'KEY_ACCEPTED' : 'KEY_REFUSED'} ${decided?.decidedBy}`,
    )
  },
)

test('a proposed key that is shorter than the setting asks for is not accepted', async (t) => {
  const node = await startTestHttp(t)
  await propose(node, 'k1')
  const { roots } = node.context
  node.context.roots = { ...roots, leastRsaBits: 3072 }
  const params = { keyId: 'k1' }
  const accept = () => callPlatform(node, 'acceptProposedKey', 'adminff', { params, body: { fingerprint } })
  const { status, body } = await accept()
  assert.equal(status, 409)
  assert.match(body.message, /2048 bits: at least 3072 are needed/)
  node.context.roots = roots
  assert.equal((await accept()).status, 200)
})

testOnBoth('a refused key is never accepted, and the same key may be proposed anew', async (t, database) => {
  const node = await startTestHttp(t, { database })
  await propose(node, 'k1')
  const params = { keyId: 'k1' }
  const refused = await callPlatform(node, 'refuseProposedKey', 'adminff', { params })
  assert.deepEqual([refused.status, refused.body.state, refused.body.decidedBy], [200, 'REFUSED', 'adminff'])
  const late = await callPlatform(node, 'acceptProposedKey', 'adminff', { params, body: { fingerprint } })
  assert.equal(late.status, 409)
  assert.equal(await keyOf(node, PLAIN, 'rsaRemoteKey'), undefined)
  assert.deepEqual(await auditActions(node), ['KEY_REFUSED adminff'])
  await propose(node, 'k2')
  const accepted = await callPlatform(node, 'acceptProposedKey', 'adminff', {
    params: { keyId: 'k2' },
    body: { fingerprint },
  })
  assert.deepEqual(accepted.body.channels, [PLAIN, FULL])
  const { rows } = await pageOfHistory(node.store.db, PLAIN, { offset: 0, size: 1 })
  assert.deepEqual(
    rows.map(({ event, detail }) => [event, detail]),
    [['CHANNEL_UPDATED', `key ${fingerprint} accepted`]],
  )
})

testOnBoth(
  'keys of a partner whose channels are closed to a signer are neither shown to it nor accepted by it',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    await propose(node, 'k1', CLOSED, 'beta')
    const listed = await callPlatform(node, 'listProposedKeys', 'adminff')
    assert.equal(listed.body.totalElements, 0)
    const params = { keyId: 'k1' }
    const refused = await callPlatform(node, 'acceptProposedKey', 'adminff', {
      params,
      body: { fingerprint },
    })
    assert.equal(refused.status, 403)
    // Over an open channel of a partner that has a closed one, too.
    const other32 = 'cd'.repeat(32)
    await propose(node, 'k2', PLAIN, 'beta', other32)
    const other = await callPlatform(node, 'acceptProposedKey', 'adminff', {
      params: { keyId: 'k2' },
      body: { fingerprint: other32 },
    })
    assert.equal(other.status, 403)
    assert.equal(await keyOf(node, CLOSED, 'rsaRemoteKey'), undefined)
    assert.equal(
      (await callPlatform(node, 'acceptProposedKey', 'admin', { params, body: { fingerprint } })).status,
      200,
    )
    assert.equal(await keyOf(node, CLOSED, 'rsaRemoteKey'), partner.certificatePem)
    // Of a channel that is gone nobody but administrators knows.
    await propose(node, 'k3', 'BANCO-ACME-GONE', 'acme', 'ef'.repeat(32))
    const refuse = async (as: string) =>
      (await callPlatform(node, 'refuseProposedKey', as, { params: { keyId: 'k3' } })).status
    assert.deepEqual([await refuse('adminff'), await refuse('admin')], [404, 200])
  },
)

testOnBoth(
  'who proposed a key is named to those who may see contacts; a channel closed meanwhile gets none',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    await propose(node, 'k1')
    const names = async () =>
      ((await callPlatform(node, 'listProposedKeys', 'adminff')).body.content as ProposedKey[]).map(
        ({ contactName }) => contactName,
      )
    assert.deepEqual(await names(), ['acme SA'])
    const account = accountOf('adminff', null)
    const auths = { ...account.auths, contactChannels: false }
    await node.store.write((tx) => putAccount(tx, { ...account, auths }))
    assert.deepEqual(await names(), [undefined])
    beforeNextWrite(node, () => node.call('updateChannel', { code: PLAIN, body: { users: ['jefa'] } }))
    const late = await callPlatform(node, 'generateChannelKey', 'adminff', {
      params: { channelCode: PLAIN },
      body: { bits: 2048 },
    })
    assert.equal(late.status, 403, late.text)
    assert.equal(await keyOf(node, PLAIN, 'rsaLocalKey'), undefined)
  },
)

testOnBoth(
  'a signer makes a local key that the channel signs with; svcFF shows its certificate, never the key',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    const params = { channelCode: PLAIN }
    const made = await callPlatform(node, 'generateChannelKey', 'adminff', {
      params,
      body: { bits: 2048, days: 30, keyName: 'banco-2026' },
    })
    assert.equal(made.status, 200, made.text)
    assert.doesNotMatch(made.text, /PRIVATE/)
    assert.deepEqual([made.body.subject, made.body.name], ['CN=Banco Azul', 'banco-2026'])
    const pem = await keyOf(node, PLAIN, 'rsaLocalKey')
    assert.ok(pem)
    const certificate = new X509Certificate(pem.slice(pem.indexOf('-----BEGIN CERTIFICATE')))
    assert.ok(certificate.checkPrivateKey(createPrivateKey(pem)))
    const shown = await callPlatform(node, 'channelKeys', 'admincontrolatorff', { params })
    assert.equal((shown.body.local as { fingerprint: string }).fingerprint, made.body.fingerprint)
    assert.doesNotMatch(shown.text, /PRIVATE/)
    const again = await callPlatform(node, 'generateChannelKey', 'adminff', { params, body: { bits: 2048 } })
    assert.equal(again.status, 409)
    assert.equal(await keyOf(node, PLAIN, 'rsaLocalKey'), pem)
    assert.deepEqual(await auditActions(node), ['KEY_GENERATED adminff'])
    const full = await callPlatform(node, 'channelKeys', 'admin', { params: { channelCode: FULL } })
    assert.deepEqual(
      [
        (full.body.remote as { fingerprint: string }).fingerprint,
        (full.body.local as { fingerprint: string }).fingerprint,
      ],
      [publicPartOf(SECRETS.rsaRemoteKey)?.fingerprint, publicPartOf(SECRETS.rsaLocalKey)?.fingerprint],
    )
    assert.doesNotMatch(full.text, /PRIVATE/)
  },
)

test('a key that is replaced still opens what partners encrypt for it, until its certificate has ended', async (t) => {
  const node = await startTestHttp(t)
  const certificates: string[] = []
  const replace = async () => {
    const made = await callPlatform(node, 'generateChannelKey', 'adminff', {
      params: { channelCode: PLAIN },
      body: { bits: 2048, days: 30, replace: true },
    })
    assert.equal(made.status, 200, made.text)
    assert.doesNotMatch(made.text, /PRIVATE/)
    certificates.push(made.body.pem as string)
  }
  const opens = async (nth: number) => {
    const privateKeyPem = (await keyOf(node, PLAIN, 'rsaLocalKey')) ?? ''
    const certificateOrPublicKeyPem = certificates[nth] ?? ''
    const sealed = await encryptBuffer(Buffer.from('x'), { certificateOrPublicKeyPem, cipher: 'AES-256-CBC' })
    return decryptBuffer(sealed, { privateKeyPem }).then(
      () => true,
      () => false,
    )
  }
  await replace()
  await replace()
  assert.deepEqual([await opens(0), await opens(1)], [true, true])
  await replace()
  assert.deepEqual(
    [await opens(0), await opens(1), await opens(2)],
    [false, true, true],
    'one of before is enough',
  )
  const { now } = node.context
  node.context.now = () => now() + 31 * 86_400_000
  await replace()
  assert.deepEqual([await opens(2), await opens(3)], [false, true])
})

testOnBoth('a partner cannot fill the list of proposed keys', async (t, database) => {
  const node = await startTestHttp(t, { database })
  const keys = { contactId: 'acme', channelCode: PLAIN, pem: 'x', receivedAt: 1 }
  for (let nth = 0; nth < 100; nth++)
    await node.store.write((tx) => insertKeyProposal(tx, { ...keys, id: `k${nth}`, fingerprint: `f${nth}` }))
  await assert.rejects(
    node.store.write((tx) => insertKeyProposal(tx, { ...keys, id: 'k', fingerprint: 'f' })),
    /100 keys of this partner wait/,
  )
})

testOnBoth(
  'keys in use are listed once each with their channels, and a key is looked at before it is set',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    const inspected = await callPlatform(node, 'inspectKey', 'admin', {
      body: { pem: partner.certificatePem },
    })
    assert.equal(inspected.body.fingerprint, fingerprint)
    assert.match(inspected.body.subject, /Acme SA/)
    assert.equal((await callPlatform(node, 'inspectKey', 'admin', { body: { pem: 'no key' } })).status, 400)
    for (const code of [PLAIN, CLOSED]) {
      const set = await node.call('updateChannel', {
        code,
        body: { security: { rsaRemoteKey: partner.certificatePem } },
      })
      assert.equal(set.status, 200, set.text)
    }
    const listed = await callPlatform(node, 'listKeys', 'admin')
    const [first, ...rest] = listed.body.content
    assert.equal(first.fingerprint, fingerprint, 'what ends comes first')
    assert.deepEqual([first.side, first.channels, first.channelCount], ['REMOTE', [PLAIN, CLOSED], 2])
    assert.ok(first.daysLeft > 3000)
    assert.deepEqual(
      rest.map(({ side, channels }: { side: string; channels: string[] }) => [side, channels]),
      [
        ['LOCAL', [FULL]],
        ['REMOTE', [FULL]],
      ],
    )
    const narrow = await callPlatform(node, 'listKeys', 'adminff')
    assert.deepEqual(
      narrow.body.content[0].channels,
      [PLAIN],
      'a channel that is closed to them is not named',
    )
    assert.ok(!listed.text.includes('PRIVATE'))
    assert.deepEqual(await auditActions(node), ['KEY_UPLOADED globaladmin', 'KEY_UPLOADED globaladmin'])
    const again = await node.call('updateChannel', {
      code: PLAIN,
      body: { security: { rsaRemoteKey: null } },
    })
    assert.equal(again.status, 200, again.text)
    assert.equal((await auditActions(node)).length, 2, 'one that is taken away was not uploaded')
    const [left] = (await callPlatform(node, 'listKeys', 'admin')).body.content
    assert.deepEqual(left.channels, [CLOSED], 'a channel that changed is looked at again')
  },
)

/** As a disk or a hand might do it: nobody is told, and the channel's revision stays. */
async function damage({ store }: TestNode, code: string, field: 'rsaLocalKey' | 'rsaRemoteKey') {
  const { secrets } = await store.db
    .selectFrom('channel')
    .select('secrets')
    .where('code', '=', code)
    .executeTakeFirstOrThrow()
  const sealed = JSON.parse(secrets) as Record<string, string>
  const changed = JSON.stringify({ ...sealed, [field]: sealed[field]?.slice(0, -8) })
  await store.write((tx) =>
    tx.updateTable('channel').set({ secrets: changed }).where('code', '=', code).execute(),
  )
}

testOnBoth(
  'a key that does not open is listed with the reason, first, and the others as ever',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    const set = await node.call('updateChannel', {
      code: PLAIN,
      body: { security: { rsaRemoteKey: partner.certificatePem } },
    })
    assert.equal(set.status, 200, set.text)
    const keys = async () => {
      const { status, text, body } = await callPlatform(node, 'listKeys', 'admin')
      assert.equal(status, 200, text)
      return (body.content as KeyInUse[]).map((key) => [
        key.side,
        key.fingerprint,
        key.channels[0],
        key.unreadable?.includes('does not open with this master key'),
      ])
    }
    await damage(node, FULL, 'rsaLocalKey')
    const ofChannel = await callPlatform(node, 'channelKeys', 'admin', { params: { channelCode: FULL } })
    const { local, remote } = ofChannel.body as ChannelKeys
    assert.match(local?.unreadable ?? ofChannel.text, /does not open with this master key/)
    assert.equal(remote?.fingerprint, publicPartOf(SECRETS.rsaRemoteKey)?.fingerprint)
    assert.deepEqual(await keys(), [
      ['LOCAL', '', FULL, true],
      ['REMOTE', fingerprint, PLAIN, undefined],
      ['REMOTE', publicPartOf(SECRETS.rsaRemoteKey)?.fingerprint, FULL, undefined],
    ])
    // What is known of it from before is still shown.
    await damage(node, PLAIN, 'rsaRemoteKey')
    assert.deepEqual((await keys())[1], ['REMOTE', fingerprint, PLAIN, true])
  },
)

testOnBoth('what is known of keys is read when the node begins to listen', async (t, database) => {
  const node = await startTestHttp(t, { database })
  assert.equal((await callPlatform(node, 'listKeys', 'admin')).body.totalElements, 2)
  const { handlers, prepare } = makePlatform()
  await prepare(node.context)
  const asked: string[] = []
  const db = node.store.db.withPlugin({
    transformQuery: ({ node: query }) => {
      asked.push(JSON.stringify(query))
      return query
    },
    transformResult: ({ result }) => Promise.resolve(result),
  })
  const context = { ...node.context, store: { ...node.store, db } }
  const user = { username: 'admin', role: 'ROLE_ADMIN' } as const
  // Of a request the list uses these two alone.
  const request = { input: { page: 1, size: 5 }, user } as Parameters<typeof handlers.listKeys>[1]
  const { totalElements } = (await handlers.listKeys(context, request)) as { totalElements: number }
  assert.equal(totalElements, 2)
  assert.ok(asked.length > 0)
  assert.ok(!asked.some((query) => query.includes('channel_keys')), 'nothing is left to be read')
})
