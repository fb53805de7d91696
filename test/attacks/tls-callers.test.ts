// Who calls over TLS is asked for a certificate, and reaches a channel that has the partner's certificate only if what is
// shown is that one.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { PlatformChannel, PlatformContact } from '../../src/contract/administration/platform-file.ts'
import { generateSelfSigned } from '../../src/engine/transforms/cms/self-signed.ts'
import { tempFolder } from '../support/harness.ts'
import { TrialPartner } from '../support/oftp2/partner.ts'
import { callBankOverTls, deliver, startCalledBank } from './partner.ts'
import type { CalledBank } from './partner.ts'

type Shows = { key?: string; cert?: string }
type Tls = NonNullable<NonNullable<PlatformContact['oftp2']>['tls']>

async function made(commonName: string): Promise<{ key: string; cert: string }> {
  const { privateKeyPem, certificatePem } = await generateSelfSigned({ commonName, bits: 2048, days: 2 })
  return { key: privateKeyPem, cert: certificatePem }
}

const secured = (security: NonNullable<PlatformChannel['security']>): Partial<PlatformChannel> => ({
  connection: { advancedConfigurationConnection: { callingEnd: 'REMOTO' } },
  security: { cryptography: true, ciphrate: 'TRANSMISION', ...security },
})

/** What becomes of a file that such a caller brings for a channel. */
async function bring(
  t: TestContext,
  bank: CalledBank,
  [shows, password, application]: [Shows, string, string],
): Promise<string> {
  const partner = await callBankOverTls(t, bank.port, shows, password)
  if (typeof partner === 'string') return `ESID ${partner}`
  const answer = await deliver(partner, application, `${Math.random()}.txt`)
  partner.close()
  return answer
}

test('a stranger’s certificate, or none where nothing else tells who calls, opens no channel that has one pinned', async (t) => {
  const bank = await startCalledBank(t, 'oftp2', { tls: true })
  const [acme, stranger] = [await made('acme'), await made('acme')]
  const rsaRemoteKey = acme.cert
  const apply = (tls: Tls = {}) =>
    bank.apply(
      { oftp2: { tls } },
      { PINNED: secured({ rsaRemoteKey }), SECRET: secured({ rsaRemoteKey, remoteKey: 'SECRET' }) },
    )
  await apply()
  const outcomes = async (cases: [Shows, string, string][]) => {
    const seen: string[] = []
    for (const one of cases) seen.push(await bring(t, bank, one))
    return seen
  }
  assert.deepEqual(
    await outcomes([
      [acme, '', 'PINNED'],
      [stranger, '', 'PINNED'],
      [{}, 'SECRET', 'PINNED'],
      [acme, 'SECRET', 'SECRET'],
      [stranger, 'SECRET', 'SECRET'],
      [{}, 'SECRET', 'SECRET'],
    ]),
    ['EFPA', 'ESID 03', '02', 'EFPA', 'ESID 03', 'EFPA'],
  )
  await apply({ clientCertificate: 'required' })
  assert.deepEqual(
    await outcomes([
      [acme, 'SECRET', 'SECRET'],
      [{}, 'SECRET', 'SECRET'],
    ]),
    ['EFPA', 'ESID 03'],
  )
})

test('where the contact names a CA, what it has signed for that name is taken, over one in between too, and nothing else', async (t) => {
  const bank = await startCalledBank(t, 'oftp2', { tls: true })
  const folder = await tempFolder(t)
  const openssl = (args: string) => execFileSync('openssl', args.split(' '), { cwd: folder, stdio: 'pipe' })
  const read = (name: string) => readFileSync(join(folder, name), 'utf8')
  await writeFile(join(folder, 'ca.ext'), 'basicConstraints=critical,CA:TRUE')
  for (const name of ['acme', 'other'])
    await writeFile(join(folder, `${name}.ext`), `subjectAltName=DNS:${name}.example`)
  const request = (name: string) =>
    openssl(
      `req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ${name}.key -subj /CN=${name} -out ${name}.csr`,
    )
  const signed = (name: string, by: string, ext: string) => {
    request(name)
    openssl(
      `x509 -req -in ${name}.csr -CA ${by}.pem -CAkey ${by}.key -CAcreateserial -days 2 -extfile ${ext}.ext -out ${name}.pem`,
    )
  }
  for (const root of ['root', 'foreign'])
    openssl(
      `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ${root}.key -subj /CN=root -days 2 -out ${root}.pem`,
    )
  signed('between', 'root', 'ca')
  signed('acme', 'between', 'acme')
  signed('other', 'root', 'other')
  signed('forged', 'foreign', 'acme')
  // A certificate that is nobody's CA has signed this one.
  signed('usurped', 'acme', 'acme')
  const tls: Tls = { ca: read('root.pem'), servername: 'acme.example' }
  await bank.apply({ oftp2: { tls } }, { PINNED: secured({}) })
  const shows = (name: string, ...more: string[]): Shows => ({
    key: read(`${name}.key`),
    cert: [name, ...more].map((one) => read(`${one}.pem`)).join(''),
  })
  const outcomes: Record<string, string> = {}
  for (const [name, ...more] of [
    ['acme', 'between'],
    ['acme'],
    ['other'],
    ['forged'],
    ['usurped', 'acme', 'between'],
  ] as [string, ...string[]][])
    outcomes[[name, ...more].join('<')] = await bring(t, bank, [shows(name, ...more), '', 'PINNED'])
  assert.deepEqual(outcomes, {
    'acme<between': 'EFPA',
    acme: 'ESID 03',
    other: 'ESID 03',
    forged: 'ESID 03',
    'usurped<acme<between': 'ESID 03',
  })
  assert.equal(await bring(t, bank, [{}, '', 'PINNED']), 'ESID 03')
  assert.ok((await callBankOverTls(t, bank.port, shows('acme', 'between'))) instanceof TrialPartner)
})
