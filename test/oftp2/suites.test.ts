// Cipher suites (RFC 5024, 10.2: 01 and 02 are mandatory; 03 to 06 are Odette's), with openssl at the other end: what goes out
// is what the contact's setting says, in SFIDCIPH and in the file itself.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeTestKey, noOpenssl, OpensslFolder } from '../support/cms-keys.ts'
import { text } from '../support/oftp2/foreign.ts'
import { handOver } from '../support/oftp2/protected-files.ts'
import { CREDIT, startForeignNode } from './foreign-node.ts'

/** Identifiers as they stand in the file: DER of the OIDs. */
const OID = {
  '3DES-CBC': '06082a864886f70d0307',
  'AES-256-CBC': '060960864801650304012a',
  sha1: '06052b0e03021a',
  sha256: '0609608648016503040201',
  sha512: '0609608648016503040203',
}
const has = (bytes: Buffer, oid: string) => bytes.includes(Buffer.from(oid, 'hex'))
const SUITES = [
  [undefined, '04', 'AES-256-CBC', 'sha256'],
  ['01', '01', '3DES-CBC', 'sha1'],
  ['02', '02', 'AES-256-CBC', 'sha1'],
  ['05', '05', '3DES-CBC', 'sha512'],
  ['06', '06', 'AES-256-CBC', 'sha512'],
] as const

test(
  'files go out under the suite of the contact, 04 without one, and are made with what it says',
  { skip: noOpenssl },
  async (t) => {
    const [ours, theirs] = [await makeTestKey('node'), await makeTestKey('partner')]
    const folder = new OpensslFolder(theirs)
    t.after(() => folder.remove())
    folder.write('ours.pem', ours.certificatePem)
    const node = await startForeignNode(t)
    for (const [suite, announced, cipher, digest] of SUITES) {
      const foreign = await node.relate(
        t,
        {
          svcff: true,
          emissionff: true,
          security: {
            cryptography: true,
            ciphrate: 'FILE',
            rsaLocalKey: ours.privateKeyPem + ours.certificatePem,
            rsaRemoteKey: theirs.certificatePem,
          },
        },
        suite === undefined ? {} : { suite },
      )
      const id = await foreign.send('pay.txt', `PAY 0000001 ${announced}`)
      const { line } = await foreign.called('5')
      const sfid = text(await line.expect('H'))
      assert.equal(
        sfid.slice(155, 162),
        `03${announced}01N`,
        'SFIDSEC, SFIDCIPH, SFIDCOMP, SFIDENV, SFIDSIGN',
      )
      line.say(`2${'0'.repeat(17)}`)
      const { content } = await line.expectFile(CREDIT)
      line.say('4N')
      assert.ok(has(content, OID[cipher]), `${announced}: ${cipher}`)
      folder.write('enveloped', content)
      folder.cms('-decrypt -inform DER -in enveloped -inkey key.pem -recip cert.pem -out signed')
      assert.ok(has(folder.read('signed'), OID[digest]), `${announced}: ${digest}`)
      folder.cms('-verify -inform DER -in signed -certfile ours.pem -CAfile ours.pem -purpose any -out plain')
      assert.equal(folder.read('plain').toString(), `PAY 0000001 ${announced}`)
      assert.equal((await foreign.ended(id)).state, 'COMPLETED')
    }
  },
)

test(
  'a node whose policy allows them takes files of the two mandatory suites',
  { skip: noOpenssl },
  async (t) => {
    const [ours, theirs] = [await makeTestKey('node'), await makeTestKey('partner')]
    const folder = new OpensslFolder(theirs)
    t.after(() => folder.remove())
    folder.write('ours.pem', ours.certificatePem)
    folder.write('plain', 'as of old')
    const node = await startForeignNode(t, { ESCLUSA_LEAST_DIGEST: 'SHA-1', ESCLUSA_LEAST_CIPHER: '3DES' })
    const foreign = await node.relate(t, {
      security: {
        rsaLocalKey: ours.privateKeyPem + ours.certificatePem,
        rsaRemoteKey: theirs.certificatePem,
      },
    })
    const { line } = await foreign.calls(t, '5')
    folder.cms(
      '-sign -nodetach -nocerts -md sha1 -in plain -signer cert.pem -inkey key.pem -outform DER -out signed',
    )
    for (const [suite, cipher] of [
      ['01', 'des3'],
      ['02', 'aes256'],
    ] as const) {
      folder.cms(`-encrypt -${cipher} -in signed -outform DER -out sent ours.pem`)
      const name = `${suite}.txt`
      assert.equal(
        await handOver(foreign, line, { name, security: '03', suite }, folder.read('sent')),
        'EFPA',
      )
      assert.equal((await foreign.arrived(name)).toString(), 'as of old')
    }
  },
)
