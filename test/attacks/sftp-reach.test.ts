// What a partner has uploaded exists for the sessions that reach its channel, and for no others: neither for one that has
// proven less, nor for one whose proof no longer counts.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { PlatformChannel } from '../../src/contract/administration/platform-file.ts'
import { FIELD_EFFECTS } from '../../src/domain/fields/effects.ts'
import { OPEN, STATUS, TYPE, U64 } from '../../src/engine/transports/ssh/sftp-packet.ts'
import { loadSsh } from '../../src/engine/transports/ssh/library.ts'
import { closeAfter, waitFor } from '../support/harness.ts'
import { OK, connectRaw } from '../support/sftp/raw-client.ts'
import type { RawClient } from '../support/sftp/raw-client.ts'
import { seenOverSftp, startCalledBank } from './partner.ts'

const CREATE = OPEN.WRITE | OPEN.CREAT | OPEN.TRUNC
const contact = { access: { username: 'acme', password: 'the entry’s own' } }
const asks = (remoteKey: string): Partial<PlatformChannel> => ({
  connection: { advancedConfigurationConnection: { callingEnd: 'REMOTO' } },
  security: { authentication: 'PASSWORD', remoteKey },
})

async function signIn(t: TestContext, port: number, password: string): Promise<RawClient> {
  const client = await connectRaw(port, { username: 'acme', password })
  closeAfter(t, () => client.close())
  return client
}

async function put(client: RawClient, path: string, text: string): Promise<void> {
  const handle = await client.open(path, CREATE)
  assert.equal(await client.write(handle, 0, Buffer.from(text)), OK)
  assert.equal(await client.status(TYPE.CLOSE, handle), OK)
}

/** Reads to the end and closes: then it counts as taken. */
async function readAll(client: RawClient, path: string): Promise<string> {
  const handle = await client.open(path, OPEN.READ)
  const { type, body } = await client.ask(TYPE.READ, handle, new U64(0), 1000)
  assert.equal(type, TYPE.DATA)
  const text = Buffer.from(body.bytes()).toString()
  assert.equal(await client.status(TYPE.CLOSE, handle), OK)
  return text
}

/** The names in a folder; undefined where there is no such folder. */
async function namesIn(client: RawClient, folder: string): Promise<string[] | undefined> {
  const opened = await client.ask(TYPE.OPENDIR, folder)
  if (opened.type !== TYPE.HANDLE) return undefined
  const { type, body } = await client.ask(TYPE.READDIR, Buffer.from(opened.body.bytes()))
  if (type !== TYPE.NAME) return []
  return Array.from({ length: body.u32() }, () => {
    const name = body.text()
    body.text()
    body.attrs()
    return name
  })
}

const CAJA = { code: 'CAJA-ACME-CAJAS', alias: 'NOMINA' }

test('what two entities send to one partner under one application can all be taken', async (t) => {
  const bank = await startCalledBank(t, 'sftp')
  await bank.apply(contact, { NOMINA: {}, CAJAS: CAJA })
  const sends = [
    ['NOMINA', 'of-banco.txt'],
    ['CAJAS', 'of-caja.txt'],
    ['NOMINA', 'of-both.txt'],
    ['CAJAS', 'of-both.txt'],
  ] as const
  for (const [application, name] of sends) {
    const id = await bank.send(application, name)
    await waitFor('it to lie there', async () => (await bank.stateOf(id)) === 'COMPLETED')
  }
  const client = await signIn(t, bank.port, 'the entry’s own')
  const taken: string[] = []
  for (;;) {
    const names = (await namesIn(client, '/NOMINA/out')) ?? []
    if (names.length === 0) break
    for (const name of names) taken.push(`${name}: ${await readAll(client, `/NOMINA/out/${name}`)}`)
  }
  assert.deepEqual(taken.sort(), [
    'of-banco.txt: the payroll of NOMINA',
    'of-both.txt: the payroll of CAJAS',
    'of-both.txt: the payroll of NOMINA',
    'of-caja.txt: the payroll of CAJAS',
  ])
})

test('an upload that may be for two entities comes to neither', async (t) => {
  const bank = await startCalledBank(t, 'sftp')
  await bank.apply(contact, { NOMINA: {}, CAJAS: CAJA })
  const client = await signIn(t, bank.port, 'the entry’s own')
  const refused = await client.ask(TYPE.OPEN, '/NOMINA/in/order.txt', CREATE, { attrs: {} })
  assert.equal(refused.type, TYPE.STATUS)
  assert.notEqual(refused.body.u32(), STATUS.OK)
  await bank.apply(contact, { NOMINA: { direction: 'EMISION' }, CAJAS: CAJA })
  await put(client, '/NOMINA/in/order.txt', 'an order')
  assert.deepEqual([await bank.received('NOMINA'), await bank.received('CAJAS')], [[], ['order.txt']])
})

for (const way of ['password', 'key'] as const)
  test(`a ${way} that was taken from the contact opens nothing more on the session that it opened`, async (t) => {
    const bank = await startCalledBank(t, 'sftp')
    const { private: privateKey, public: key } = loadSsh().ssh2.utils.generateKeyPairSync('ecdsa', {
      bits: 256,
    })
    const { public: other } = loadSsh().ssh2.utils.generateKeyPairSync('ecdsa', { bits: 256 })
    const entry = way === 'password' ? { password: 'the entry’s own' } : { authorizedKeys: [key] }
    const apply = (access: object) => bank.apply({ access: { username: 'acme', ...access } }, { OPEN: {} })
    await apply(entry)
    const client = await connectRaw(bank.port, {
      username: 'acme',
      ...(way === 'password' ? { password: 'the entry’s own' } : { privateKey }),
    })
    closeAfter(t, () => client.close())
    await put(client, '/OPEN/in/first.txt', 'first')
    // What has nothing to do with it changes nothing.
    await apply(way === 'password' ? { ...entry, authorizedKeys: [key] } : { authorizedKeys: [other, key] })
    await put(client, '/OPEN/in/second.txt', 'second')
    await apply(way === 'password' ? { password: 'another of the entry' } : { authorizedKeys: [other] })
    assert.equal(
      await client.status(TYPE.OPEN, '/OPEN/in/third.txt', CREATE, { attrs: {} }),
      STATUS.NO_SUCH_FILE,
    )
    assert.deepEqual(await namesIn(client, '/'), [])
    assert.deepEqual(await bank.received('OPEN'), ['first.txt', 'second.txt'])
  })

/** What a client hears of a file that is there, whatever it asks. */
async function asksAbout(client: RawClient, path: string): Promise<Record<string, number>> {
  return {
    stat: await client.status(TYPE.STAT, path),
    read: await client.status(TYPE.OPEN, path, OPEN.READ, { attrs: {} }),
    stamp: await client.status(TYPE.SETSTAT, path, { attrs: { mtime: 1, atime: 1 } }),
    rename: await client.status(TYPE.RENAME, path, `${path}.tmp`),
    remove: await client.status(TYPE.REMOVE, path),
  }
}

const NOTHING = Object.fromEntries(
  ['stat', 'read', 'stamp', 'rename', 'remove'].map((name) => [name, STATUS.NO_SUCH_FILE]),
)

test('of two channels with one application a session has the uploads of its own alone', async (t) => {
  const bank = await startCalledBank(t, 'sftp')
  const caja = { ...asks('SECOND'), code: 'CAJA-ACME-NOMINA' }
  await bank.apply(contact, { NOMINA: asks('FIRST'), CAJA: caja })
  const [first, second] = [await signIn(t, bank.port, 'FIRST'), await signIn(t, bank.port, 'SECOND')]
  await put(first, '/NOMINA/in/x.part', 'of the first')
  assert.deepEqual(await namesIn(second, '/NOMINA/in'), [])
  assert.deepEqual(await asksAbout(second, '/NOMINA/in/x.part'), NOTHING)
  // The same name is another file there.
  await put(second, '/NOMINA/in/x.part', 'of the other')
  for (const client of [second, first]) {
    assert.deepEqual(await namesIn(client, '/NOMINA/in'), ['x.part'])
    assert.equal(await client.status(TYPE.RENAME, '/NOMINA/in/x.part', '/NOMINA/in/x.txt'), OK)
  }
  assert.deepEqual([await bank.received('NOMINA'), await bank.received('CAJA')], [['x.txt'], ['x.txt']])
})

test('the names that one session has taken are not told to a session of another channel', async (t) => {
  const bank = await startCalledBank(t, 'sftp')
  const caja = { ...asks('SECOND'), code: 'CAJA-ACME-NOMINA' }
  await bank.apply(contact, { NOMINA: asks('FIRST'), CAJA: caja })
  await bank.send('NOMINA', 'payroll.txt')
  const [first, second] = [await signIn(t, bank.port, 'FIRST'), await signIn(t, bank.port, 'SECOND')]
  const handle = await first.open('/NOMINA/out/payroll.txt', OPEN.READ)
  assert.equal((await first.ask(TYPE.READ, handle, { raw: Buffer.alloc(8) }, 1000)).type, TYPE.DATA)
  assert.equal(await first.status(TYPE.CLOSE, handle), OK)
  assert.equal(await second.status(TYPE.REMOVE, '/NOMINA/out/payroll.txt'), STATUS.NO_SUCH_FILE)
  assert.equal(await first.status(TYPE.REMOVE, '/NOMINA/out/payroll.txt'), OK)
})

test('a key that was changed ends what an open session sees at its next request', async (t) => {
  const bank = await startCalledBank(t, 'sftp')
  await bank.apply(contact, { NOMINA: asks('OLD') })
  const old = await signIn(t, bank.port, 'OLD')
  await put(old, '/NOMINA/in/before.part', 'of the old key')
  assert.deepEqual(await namesIn(old, '/'), ['NOMINA'])
  await bank.apply(contact, { NOMINA: asks('NEW') })
  const fresh = await signIn(t, bank.port, 'NEW')
  await put(fresh, '/NOMINA/in/x.part', 'of the new key')
  await put(fresh, '/NOMINA/in/y.txt', 'handed over')
  assert.deepEqual(await asksAbout(old, '/NOMINA/in/x.part'), NOTHING)
  assert.equal(await old.status(TYPE.STAT, '/NOMINA/in/y.txt'), STATUS.NO_SUCH_FILE)
  assert.equal(await old.status(TYPE.OPEN, '/NOMINA/in/z.part', CREATE, { attrs: {} }), STATUS.NO_SUCH_FILE)
  assert.deepEqual(
    [await namesIn(old, '/'), await namesIn(old, '/NOMINA'), await namesIn(old, '/NOMINA/in')],
    [[], undefined, undefined],
  )
  assert.deepEqual((await namesIn(fresh, '/NOMINA/in'))?.sort(), ['before.part', 'x.part', 'y.txt'])
})

test('what a channel asks of a caller acts over SFTP, and the table of fields says so', async (t) => {
  const bank = await startCalledBank(t, 'sftp')
  const seenBy = async (password: string) =>
    seenOverSftp(bank.port, { username: 'acme', password }).catch(() => 'refused')
  const connection = { advancedConfigurationConnection: { callingEnd: 'REMOTO' as const } }
  await bank.apply(contact, { NOMINA: { connection } })
  assert.deepEqual(await seenBy('the entry’s own'), ['NOMINA'])
  for (const [field, security] of [
    ['security.remoteKey', { authentication: 'PASSWORD', remoteKey: 'another' }],
    ['security.authentication', { authentication: 'CERTIFICATE' }],
  ] as const) {
    await bank.apply(contact, { NOMINA: { connection, security } })
    assert.notDeepEqual(await seenBy('the entry’s own'), ['NOMINA'], field)
    assert.equal(FIELD_EFFECTS.find((one) => one.field === field)?.cells['sftp remote'], 'acts')
  }
})
