// Contacts with two to four channels of random demands, a partner with random credentials: what it reaches over OFTP2 and
// over SFTP is exactly what a small model says, written from the rule and not from the code.

import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import * as fc from 'fast-check'
import type { PlatformChannel } from '../../src/contract/administration/platform-file.ts'
import { loadSsh } from '../../src/engine/transports/ssh/library.ts'
import { generateSelfSigned } from '../../src/engine/transforms/cms/self-signed.ts'
import { callBank, deliver, seenOverSftp, startCalledBank } from './partner.ts'

const PASSWORDS = ['FIRST', 'SECOND', 'THIRD'] as const
const APPLICATIONS = ['ALFA', 'BETA', 'GAMMA', 'DELTA']
const RUNS = process.env.ESCLUSA_LONG === '1' ? 200 : 15

type Demands = {
  asks: 'nothing' | 'certificate' | (typeof PASSWORDS)[number]
  /** Which addresses may call, where that is looked at. */
  from: 'anywhere' | 'here' | 'elsewhere'
  calls: 'partner' | 'node' | 'either'
  active: boolean
  encrypted: boolean
}

const demands: fc.Arbitrary<Demands> = fc.record({
  asks: fc.constantFrom('nothing', 'certificate', ...PASSWORDS),
  from: fc.constantFrom('anywhere', 'anywhere', 'here', 'elsewhere'),
  calls: fc.constantFrom('partner', 'either', 'either', 'node'),
  active: fc.constantFrom(true, true, true, false),
  encrypted: fc.boolean(),
})
const channels = fc.array(demands, { minLength: 2, maxLength: 4 })

/** The rule: a caller from 127.0.0.1 over such a line, with such a password, or having proven a key. */
function isMet(
  asked: Demands,
  shown: { password: string; encrypted: boolean; key: boolean; entry: boolean },
): boolean {
  if (!asked.active || asked.calls === 'node' || asked.from === 'elsewhere') return false
  if (asked.encrypted && !shown.encrypted) return false
  if (asked.asks === 'certificate') return shown.key
  return asked.asks === 'nothing' ? shown.entry : asked.asks === shown.password
}

let rsa: { rsaLocalKey: string; rsaRemoteKey: string }
before(async () => {
  const { privateKeyPem, certificatePem } = await generateSelfSigned({ commonName: 'acme', days: 2 })
  rsa = { rsaLocalKey: privateKeyPem + certificatePem, rsaRemoteKey: certificatePem }
})

function channelOf({ asks, from, calls, active, encrypted }: Demands): Partial<PlatformChannel> {
  const proof =
    asks === 'nothing'
      ? {}
      : asks === 'certificate'
        ? { authentication: 'CERTIFICATE' as const, ...rsa }
        : { authentication: 'PASSWORD' as const, remoteKey: asks }
  return {
    deactivateChannel: !active,
    security: { ...(encrypted && { cryptography: true, ciphrate: 'TRANSMISION' as const }), ...proof },
    connection: {
      ips: [from === 'elsewhere' ? '192.0.2.1' : '127.0.0.1'],
      advancedConfigurationConnection: {
        callingEnd: ({ partner: 'REMOTO', node: 'LOCAL', either: 'INDISTINTO' } as const)[calls],
        validateIp: from !== 'anywhere',
      },
    },
  }
}

const named = (all: readonly Demands[]) =>
  Object.fromEntries(all.map((one, index) => [APPLICATIONS[index], channelOf(one)]))
const namesOf = (all: readonly Demands[], met: (one: Demands) => boolean) =>
  APPLICATIONS.filter((_, index) => all[index] && met(all[index])).toSorted()

test('over OFTP2 a caller reaches what the model says', async (t) => {
  const bank = await startCalledBank(t, 'oftp2')
  await fc.assert(
    fc.asyncProperty(channels, fc.constantFrom('', 'WRONG', ...PASSWORDS), async (all, password) => {
      await bank.startAnew({}, named(all))
      const partner = await callBank(t, bank.port, password)
      const reached: string[] = []
      if (typeof partner !== 'string') {
        for (const application of Object.keys(named(all)))
          if ((await deliver(partner, application, `${Math.random()}.txt`)) === 'EFPA')
            reached.push(application)
        partner.close()
      }
      const shown = { password, encrypted: false, key: false, entry: true }
      assert.deepEqual(
        reached.toSorted(),
        namesOf(all, (one) => isMet(one, shown)),
      )
    }),
    { numRuns: RUNS },
  )
})

test('over SFTP a caller sees what the model says', async (t) => {
  const bank = await startCalledBank(t, 'sftp')
  const { utils } = loadSsh().ssh2
  // Of the Ed25519 keys that ssh2 makes, it cannot read one in two hundred itself.
  const { private: privateKey, public: authorized } = utils.generateKeyPairSync('ecdsa', { bits: 256 })
  const access = { username: 'acme', password: 'the entry’s own', authorizedKeys: [authorized] }
  const signIns = fc.constantFrom('key', access.password, 'WRONG', ...PASSWORDS)
  await fc.assert(
    fc.asyncProperty(channels, signIns, async (all, how) => {
      await bank.startAnew({ access }, named(all))
      const as = how === 'key' ? { privateKey } : { password: how }
      const seen = await seenOverSftp(bank.port, { username: 'acme', ...as })
      const entry = how === 'key' || how === access.password
      const shown = { password: how, encrypted: true, key: how === 'key', entry }
      assert.deepEqual(
        seen ?? [],
        namesOf(all, (one) => isMet(one, shown)),
      )
    }),
    { numRuns: RUNS },
  )
})
