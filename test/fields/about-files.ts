// What happens around a file, the same on every line: which files go, where they end up, how they are written, who may
// see them.

import assert from 'node:assert/strict'
import { gunzipSync } from 'node:zlib'
import {
  decryptBuffer,
  encryptBuffer,
  signBuffer,
  verifyBuffer,
} from '../../src/engine/transforms/cms/messages.ts'
import { waitFor } from '../support/harness.ts'
import { parked } from './lanes.ts'
import type { Lane, Setting } from './lanes.ts'
import { completed, LONG } from './proof.ts'
import type { Proof } from './proof.ts'

/** The type of a CMS message that GCM makes; CBC makes another. */
const AUTH_ENVELOPED = Buffer.from('060b2a864886f70d0109100117', 'hex')
const EBCDIC_AB = Buffer.from('c1c2', 'hex')

const around: Proof = {
  cells: [
    'directories.direction',
    'directories.filePath',
    'directories.fileGroupsName',
    'directories.alphabet',
    'directories.traduction',
    'directories.translateStatus',
    `${LONG.transmission}.characters`,
    `${LONG.transmission}.stampLength`,
    'integrations.preEmisionFile',
    'integrations.preReceptionFile',
    'integrations.postEmisionAction',
    'integrations.postEmisionDirectory',
    'integrations.postEmisionRename',
    'integrations.postReceptionAction',
    'integrations.postReceptionDirectory',
    'integrations.postReceptionRename',
  ],
  run: async ({ lane: make, plain }) => {
    const lane = await make({ ours: aroundFiles })
    await lane.noteScript('before-out')
    await lane.noteScript('before-in')
    // Each in a directory of its own kind, all in one transfer.
    await lane.put('a.txt', 'AB', lane.here('salida'))
    await lane.put('no.bin', 'AB', lane.here('salida'))
    await lane.put('off.txt', 'AB', lane.here('off'))
    await lane.put('none.txt', 'AB', lane.here('none'))
    await lane.put('wire.txt', 'AB', lane.here('wire'))
    await lane.put('inward.txt', 'AB', lane.here('entrada'))
    await lane.put('a.txt', 'an earlier one', lane.here('sent'))
    completed(await lane.emit())
    for (const name of ['a.txt', 'wire.txt']) assert.deepEqual(await lane.got(name), EBCDIC_AB, name)
    for (const name of ['off.txt', 'none.txt']) assert.equal(String(await lane.got(name)), 'AB', name)
    assert.deepEqual(await lane.partnerHas(), ['a.txt', 'none.txt', 'off.txt', 'wire.txt'])
    assert.deepEqual(await lane.list('salida'), ['no.bin'])
    const sent = (await lane.list('sent')).join()
    assert.match(sent, /^a\.\d+\.txt,a\.txt,none\.txt,off\.txt,wire\.txt$/)
    assert.match(await lane.note('before-out'), /preEmision a\.txt/)

    const days = [0, 1].map((day) => new Date(Date.now() + day * 86_400_000).toISOString().slice(0, 10))
    const stamped = days.map((day) => `b.${day.replaceAll('-', '')}.txt`)
    for (const name of stamped) await lane.put(name, 'an earlier one', lane.here('kept'))
    completed(await lane.receive('b.txt', EBCDIC_AB))
    const kept = await lane.list('kept')
    const came = kept.find((name) => !stamped.includes(name)) ?? ''
    assert.match(came, /^b\.\d{8}\.\d+\.txt$/, kept.join())
    assert.deepEqual(await lane.list('entrada'), ['inward.txt'])
    assert.match(await lane.note('before-in'), /preReception b\.txt/)

    const bare = await plain()
    assert.deepEqual([await bare.list('out'), await bare.partnerHas()], [['a.txt'], ['a.txt']])
    assert.deepEqual(await bare.list('in'), ['b.txt'])
    assert.equal(String(await bare.got('a.txt')), 'AB')
  },
}

function aroundFiles(lane: Lane): Setting {
  const text = { alphabet: 'ASCII', traduction: 'EBCDIC', translateStatus: true } as const
  const out = (folder: string, more: object) => ({
    direction: 'EMISION' as const,
    filePath: lane.here(folder),
    fileGroupsName: '*.txt',
    ...more,
  })
  return {
    directories: [
      out('salida', text),
      out('off', { ...text, translateStatus: false }),
      out('none', { ...text, alphabet: 'NINGUNO' }),
      out('wire', { alphabet: 'ASCII', translateStatus: true }),
      { direction: 'RECEPCION', filePath: lane.here('entrada'), fileGroupsName: '*.txt', ...text },
    ],
    connection: { advancedConfigurationTransmission: { stampLength: 8, characters: 'EBCDIC' } },
    integrations: {
      preEmisionFile: lane.script('before-out'),
      preReceptionFile: lane.script('before-in'),
      postEmisionAction: 'EMISION_MOVE',
      postEmisionDirectory: lane.here('sent'),
      postEmisionRename: true,
      postReceptionAction: 'RECEPTION_MOVE',
      postReceptionDirectory: lane.here('kept'),
      postReceptionRename: true,
    },
  }
}

const records: Proof = {
  cells: [
    'directories.fileFormat',
    'directories.registerLength',
    'directories.delimitator with FIJO and VARIABLE',
    'integrations.exceptionFile',
  ],
  run: async ({ lane: make }) => {
    const failing = [
      { fileFormat: 'FIJO', registerLength: 4 },
      { fileFormat: 'VARIABLE', delimitator: 'UNIX', registerLength: 3 },
      { fileFormat: 'VARIABLE', delimitator: 'NINGUNO' },
    ] as const
    const fitting = [
      { fileFormat: 'FIJO', registerLength: 5 },
      { fileFormat: 'VARIABLE', delimitator: 'UNIX', registerLength: 4 },
      { fileFormat: 'BINARIO' },
    ] as const
    const forms = (folder: (index: number) => string, direction: 'EMISION' | 'RECEPCION') =>
      fitting.map((one, index) => ({
        direction,
        filePath: folder(index),
        fileGroupsName: `k${index}.txt`,
        ...one,
      }))
    const kind = await make({
      theirs: (lane) => ({ directories: forms(() => lane.there('got'), 'RECEPCION') }),
      ours: (lane) => ({
        directories: forms((index) => lane.here(`kind${index}`), 'EMISION'),
      }),
    })
    for (const index of [0, 1, 2]) await kind.put(`k${index}.txt`, 'long\n', kind.here(`kind${index}`))
    completed(await kind.emit())
    const lane = await make()
    await lane.noteScript('failed')
    for (const one of failing) {
      await lane.apply({
        directories: [{ direction: 'EMISION', filePath: lane.here('out'), ...one }],
        integrations: { exceptionFile: lane.script('failed') },
      })
      await lane.put('a.txt', 'long\n')
      const { state, error } = await lane.emit()
      assert.match(`${state} ${error}`, /^FAILED file_refused/, JSON.stringify(one))
    }
    const noted = async () => (await lane.note('failed')).split('exception').length > failing.length
    await waitFor('the script for failures to have run each time', noted)
    assert.deepEqual(await lane.partnerHas(), [])
  },
}

const compressedFiles: Proof = {
  cells: ['directories.compression'],
  run: async ({ lane: make, plain }) => {
    const lane = await make({
      ours: (lane) => ({
        directories: [{ direction: 'EMISION', filePath: lane.here('out'), compression: true }],
      }),
    })
    const text = 'packed '.repeat(5000)
    await lane.put('a.txt', text)
    completed(await lane.emit())
    assert.equal(String(gunzipSync(await lane.got('a.txt'))), text)
    assert.equal(String(await (await plain()).got('a.txt')), 'AB')
  },
}

const duplicates: Proof = {
  cells: ['allowSendDuplicateFiles'],
  run: async ({ lane: make, plain }) => {
    const again = await (await plain()).send()
    assert.equal(again.status, 409, again.text)
    assert.match(again.text, /a\.txt was sent already/)
    const lane = await make({ ours: () => ({ allowSendDuplicateFiles: true }) })
    await lane.put('a.txt', 'AB')
    completed(await lane.emit())
    assert.equal((await lane.send()).status, 200)
    await lane.reset()
  },
}

/** The partner keeps the keys at the other end; of a node that is the other end, the same ones. */
const protectedBy = (lane: Lane): Setting => ({
  svcff: true,
  emissionff: true,
  receptionff: true,
  security: {
    cryptography: true,
    ciphrate: 'FILE',
    confidentiality: 'AES-256-CBC',
    rsaLocalKey: lane.node.identity,
    rsaRemoteKey: lane.partner.certificate,
  },
})

const protectedAtOther = (lane: Lane): Setting => ({
  ...protectedBy(lane),
  security: {
    ...protectedBy(lane).security,
    rsaLocalKey: lane.partner.identity,
    rsaRemoteKey: lane.node.certificate,
  },
})

const signAs = (identity: string, content: string) =>
  signBuffer(Buffer.from(content), { privateKeyPem: identity, digest: 'sha256', includeCertificate: false })

const protection: Proof = {
  cells: [
    'svcff',
    'emissionff',
    'receptionff',
    'security.cryptography',
    'security.ciphrate FILE',
    'security.confidentiality AES-256-CBC',
    'security.rsaLocalKey',
    'security.rsaRemoteKey',
    'integrations.postEmisionFile',
    'integrations.postReceptionFile',
  ],
  run: async ({ lane: make, plain }) => {
    const scripts = (lane: Lane): Setting => ({
      integrations: {
        postEmisionAction: 'EMISION_EXECUTE',
        postEmisionFile: lane.script('sent'),
        postReceptionAction: 'RECEPTION_EXECUTE',
        postReceptionFile: lane.script('came'),
      },
    })
    const lane = await make({
      ours: (lane) => ({ ...protectedBy(lane), ...scripts(lane) }),
      theirs: protectedAtOther,
    })
    await lane.noteScript('sent')
    await lane.noteScript('came')
    await lane.put('a.txt', 'secret')
    const sent = await lane.emit()
    completed(sent)
    assert.equal(sent.encryption, true)
    assert.equal(await opened(lane, await lane.got('a.txt')), 'secret')
    assert.match(await lane.note('sent'), /postEmision a\.txt/)
    completed(await lane.receive('b.txt', await closed(lane, 'from outside')))
    assert.deepEqual(await lane.list('in'), ['b.txt'])
    const ran = async () => /postReception b\.txt/.test(await lane.note('came'))
    await waitFor('the script after a reception to have run', ran)

    // The same keys, and neither service switched on: nothing is signed, encrypted, or asked for.
    const off = await make({
      ours: (lane) => ({
        ...protectedBy(lane),
        svcff: false,
        security: { ...protectedBy(lane).security, cryptography: false },
      }),
    })
    await off.put('a.txt', 'open')
    completed(await off.emit())
    assert.equal(String(await off.got('a.txt')), 'open')
    completed(await off.receive('b.txt', 'unsigned'))
    // Signed files alone: one without a signature is put aside.
    const demanding = await make({
      ours: (lane) => ({
        svcff: true,
        receptionff: true,
        security: { rsaRemoteKey: lane.partner.certificate },
      }),
    })
    const unsigned = await demanding.receive('c.txt', 'unsigned')
    assert.notEqual(unsigned.state, 'COMPLETED')
    assert.deepEqual(await demanding.list('in'), [])
    assert.equal(String(await (await plain()).got('a.txt')), 'AB')
  },
}

/** As the partner has it: a node opens by itself, others get the message. */
async function opened(lane: Lane, message: Buffer): Promise<string> {
  if (lane.isOftp2) return String(message)
  assert.ok(!message.includes(AUTH_ENVELOPED))
  const signed = await decryptBuffer(message, { privateKeyPem: lane.partner.identity })
  return String(await verifyBuffer(signed, { certificateOrPublicKeyPem: lane.node.certificate }))
}

async function closed(lane: Lane, content: string): Promise<Buffer | string> {
  if (lane.isOftp2) return content
  return encryptBuffer(await signAs(lane.partner.identity, content), {
    certificateOrPublicKeyPem: lane.node.certificate,
    cipher: 'AES-256-CBC',
  })
}

const gcm: Proof = {
  cells: ['security.confidentiality AES-256-GCM'],
  run: async ({ lane: make }) => {
    const lane = await make({
      ours: (lane) => ({
        security: {
          cryptography: true,
          ciphrate: 'FILE',
          confidentiality: 'AES-256-GCM',
          rsaRemoteKey: lane.partner.certificate,
        },
      }),
    })
    await lane.put('a.txt', 'secret')
    completed(await lane.emit())
    const message = await lane.got('a.txt')
    assert.ok(message.includes(AUTH_ENVELOPED))
    assert.equal(String(await decryptBuffer(message, { privateKeyPem: lane.partner.identity })), 'secret')
  },
}

const keyExchange: Proof = {
  cells: ['keyExchangeChannel'],
  run: async ({ lane: make }) => {
    const lane = await make({
      ours: (lane) => ({ keyExchangeChannel: true, security: { rsaLocalKey: lane.node.identity } }),
    })
    await lane.put('a.txt', 'not this')
    completed(await lane.emit())
    const names = await waitFor('a certificate at the partner’s', async () => {
      const there = await lane.partnerHas()
      return there.length > 0 ? there : undefined
    })
    assert.ok(names && !names.includes('a.txt'), String(names))
    assert.match(String(await lane.got(names[0] ?? '')), /BEGIN CERTIFICATE/)
    completed(await lane.receive('key.pem', lane.partner.certificate))
    assert.ok((await lane.history()).includes('KEY_RECEIVED'))
    assert.deepEqual(await lane.list('in'), [])
  },
}

const closedWays: Proof = {
  cells: [
    'direction',
    'deactivateChannel',
    'emission.active',
    'emission.direction',
    'reception.active',
    'reception.direction',
  ],
  run: async ({ lane: make, plain }) => {
    await plain() // both ways open where none is set
    const ways: [Setting, out: number, comesIn: boolean][] = [
      [{ direction: 'EMISION' }, 200, false],
      [{ direction: 'RECEPCION' }, 400, true],
      [{ deactivateChannel: true }, 409, false],
      [{ emission: { active: false } }, 409, true],
      [{ emission: { direction: 'RECEPCION' } }, 409, true],
      [{ reception: { active: false } }, 200, false],
      [{ reception: { direction: 'EMISION' } }, 200, false],
    ]
    for (const [setting, out, comesIn] of ways) {
      const what = JSON.stringify(setting)
      const lane = await make({ ours: () => setting })
      const came = await lane.receive('b.txt', 'B')
      assert.equal(came.state === 'COMPLETED', comesIn, `${what}: ${came.error}`)
      assert.deepEqual(await lane.list('in'), comesIn ? ['b.txt'] : [], what)
      await lane.put('a.txt', 'AB')
      assert.equal((await lane.send()).status, out, what)
      if (out === 200) await lane.reset()
    }
  },
}

const users: Proof = {
  cells: ['users'],
  run: async ({ lane: make }) => {
    const lane = await make({ ours: () => ({ users: ['ana'] }) })
    const ask = (as: string) => lane.node.call('channelStatus', { code: lane.code, as })
    assert.deepEqual([(await ask('ana')).status, (await ask('otto')).status], [200, 403])
    await lane.apply({ users: [] })
    assert.equal((await ask('otto')).status, 200)
  },
}

/** An hour so far from now that the test ends before it is reached. */
function hour(away: number): string {
  return `${String((new Date().getUTCHours() + 24 + away) % 24).padStart(2, '0')}:00`
}

const hours: Proof = {
  cells: [`${LONG.calls}.initialHour`, `${LONG.calls}.finishHour`],
  run: async ({ lane: make }) => {
    const between = (from: number, to: number): Setting => ({
      connection: { advancedConfigurationConnection: { initialHour: hour(from), finishHour: hour(to) } },
    })
    // Closed before the first hour and after the last; each of the two alone makes it open.
    for (const [from, to] of [
      [4, 8],
      [-8, -4],
    ] as const) {
      const lane = await make({ ours: () => between(from, to) })
      await lane.put('a.txt', 'AB')
      const id = String((await lane.send()).body.transferId)
      await parked(lane.node, id)
      assert.equal((await lane.row(id)).state, 'PENDING')
      await lane.apply(between(from === 4 ? -4 : from, from === 4 ? to : 4))
      await lane.partnerTakes(id)
      completed(await lane.ended(id))
    }
  },
}

export const FILES: readonly Proof[] = [
  around,
  records,
  compressedFiles,
  duplicates,
  protection,
  gcm,
  keyExchange,
  closedWays,
  users,
  hours,
]
