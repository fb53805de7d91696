// End-to-end receipts, several channels over one session, and the exchange of keys, between two whole nodes.

import assert from 'node:assert/strict'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { esclusa } from '../crash/node-process.ts'
import { waitFor } from '../support/harness.ts'
import { makeIdentity, startPair } from './pair.ts'
import type { Pair, Relation } from './pair.ts'
import { WireTap } from './wire-tap.ts'
import type { TappedCall } from './wire-tap.ts'

async function receiptsOf({ left }: Pair, id: string): Promise<string[]> {
  const rows = await left.store.db
    .selectFrom('transfer_file')
    .select('receipt')
    .where('transfer_id', '=', id)
    .execute()
  return rows.map(({ receipt }) => receipt)
}

async function sendOne(pair: Pair, relation: Relation, application = 'FILES'): Promise<string> {
  await pair.put(relation, 'left', application, 'a.bin', `for ${application}`)
  return pair.send('left', relation.code('left', application))
}

/** A script at the right end that ends with `status`. */
async function scriptAt({ right }: Pair, name: string, body: string): Promise<string> {
  const path = join(right.scripts, name)
  await writeFile(path, `#!/bin/sh\n${body}\n`)
  await chmod(path, 0o755)
  return path
}

async function hashAgreed(pair: Pair): Promise<void> {
  const relation = await pair.relate(() => {
    const channel = { validationHashFiles: true }
    return {
      left: { channels: { FILES: { ...channel, security: pair.keys('left') } } },
      right: { channels: { FILES: { ...channel, security: pair.keys('right') } } },
    }
  })
  const id = await sendOne(pair, relation)
  const { state, error } = await pair.ended('left', id)
  assert.equal(state, 'COMPLETED', error ?? '')
  assert.deepEqual(await receiptsOf(pair, id), ['POSITIVE'])
}

/** The receipt is signed by a key that is not the partner's: the hash fits, the signature does not count. */
async function wronglySigned(pair: Pair): Promise<void> {
  const stranger = await makeIdentity('stranger')
  const relation = await pair.relate(() => {
    const channel = { validationHashFiles: true }
    const right = pair.keys('right', { rsaLocalKey: stranger.identity })
    return {
      left: { channels: { FILES: { ...channel, security: pair.keys('left') } } },
      right: { channels: { FILES: { ...channel, security: right } } },
    }
  })
  const id = await sendOne(pair, relation)
  const { state, error_code } = await pair.ended('left', id)
  assert.deepEqual([state, error_code], ['FAILED', 'receipt_negative'])
}

async function negative(pair: Pair): Promise<void> {
  const script = await scriptAt(pair, 'refuses.sh', 'exit 3')
  const relation = await pair.relate(() => ({
    left: { channels: { FILES: downloadConf() } },
    right: {
      channels: {
        FILES: { integrations: { postReceptionAction: 'RECEPTION_EXECUTE', postReceptionFile: script } },
      },
    },
  }))
  const id = await sendOne(pair, relation)
  const { state, error, error_code } = await pair.ended('left', id)
  assert.deepEqual([state, error_code], ['FAILED', 'receipt_negative'], error ?? '')
  assert.match(error ?? '', /a\.bin/)
  assert.deepEqual(await receiptsOf(pair, id), ['NEGATIVE'])
}

function downloadConf() {
  return { connection: { ips: ['127.0.0.1'], advancedConfigurationTransmission: { downloadConf: true } } }
}

/** The receiving end is slow to finish: the receipt cannot come in the session of the file. */
async function later(pair: Pair): Promise<void> {
  const tap = await WireTap.open(pair.right.plainPort)
  try {
    await receiptInLaterSession(pair, tap)
  } finally {
    await tap.close()
  }
}

async function receiptInLaterSession(pair: Pair, tap: WireTap): Promise<void> {
  const script = await scriptAt(pair, 'slow.sh', 'while [ ! -e "$0.go" ]; do sleep 0.2; done')
  const relation = await pair.relate(() => ({
    left: { channels: { FILES: downloadConf() }, port: tap.port },
    right: {
      channels: {
        FILES: { integrations: { postReceptionAction: 'RECEPTION_EXECUTE', postReceptionFile: script } },
      },
    },
  }))
  const id = await sendOne(pair, relation)
  // A session waits for some seconds for what is still being done with its files.
  const ended = ({ said }: TappedCall) => said.some(({ command }) => command.kind === 'ESID')
  const call = await waitFor('the end of the session', () => tap.calls.find(ended))
  assert.deepEqual([call?.count('caller', 'EFID'), call?.count('called', 'EERP')], [1, 0])
  assert.deepEqual(await receiptsOf(pair, id), ['AWAITED'])
  await writeFile(`${script}.go`, '')
  const { state, error } = await pair.ended('left', id)
  assert.equal(state, 'COMPLETED', error ?? '')
}

async function manyChannels(pair: Pair): Promise<void> {
  const names = ['PAY', 'TAX', 'LIST', 'NEWS']
  const channels = Object.fromEntries(names.map((name) => [name, downloadConf()]))
  const relation = await pair.relate(() => ({ left: { channels }, right: { channels } }))
  for (const name of names) await pair.put(relation, 'left', name, 'a.bin', `for ${name}`)
  await pair.put(relation, 'right', 'NEWS', 'back.bin', 'the other way')
  const ids = await Promise.all(names.map((name) => pair.send('left', relation.code('left', name))))
  const back = await pair.send('right', relation.code('right', 'NEWS'))
  const ends = [
    ...(await Promise.all(ids.map((id) => pair.ended('left', id)))),
    await pair.ended('right', back),
  ]
  for (const { state, error } of ends) assert.equal(state, 'COMPLETED', error ?? '')
  for (const name of names)
    assert.equal((await pair.arrived(relation, 'right', name, 'a.bin')).toString(), `for ${name}`)
  assert.equal((await pair.arrived(relation, 'left', 'NEWS', 'back.bin')).toString(), 'the other way')
}

/** The left end has a new key; the right one learns of it, and uses it only when somebody says so. */
async function keysExchanged(pair: Pair): Promise<void> {
  const renewed = await makeIdentity('renewed')
  const relation = await pair.relate(() => {
    const signed = { svcff: true, emissionff: true, receptionff: true }
    const left = pair.keys('left', { rsaLocalKey: renewed.identity })
    return {
      left: {
        channels: {
          KEYS: { keyExchangeChannel: true, security: left },
          FILES: { ...signed, security: left },
        },
      },
      right: {
        channels: {
          KEYS: { keyExchangeChannel: true, security: pair.keys('right') },
          FILES: { ...signed, security: pair.keys('right') },
        },
      },
    }
  })
  const before = await pair.ended('left', await sendOne(pair, relation))
  assert.equal(before.state, 'FAILED', 'signed with a key that is not known yet')
  const sent = await pair.ended('left', await pair.send('left', relation.code('left', 'KEYS')))
  assert.equal(sent.state, 'COMPLETED', sent.error ?? '')
  const { db } = pair.right.store
  const proposal = await waitFor('the proposed key', () =>
    db
      .selectFrom('key_proposal')
      .selectAll()
      .where('contact_id', '=', relation.name.toLowerCase())
      .executeTakeFirst(),
  )
  assert.equal(proposal?.pem.trim(), renewed.certificate.trim())
  const history = await pair.history('right', relation.code('right', 'KEYS'))
  assert.ok(history.some(({ event }) => event === 'KEY_RECEIVED'))
  const still = await pair.ended('left', await sendOne(pair, relation))
  assert.equal(still.state, 'FAILED', 'a proposal alone changes nothing')
  await esclusa({ ESCLUSA_DATA_DIR: pair.right.dataDir }, 'keys', 'accept', proposal?.id ?? '')
  const after = await pair.ended('left', await sendOne(pair, relation))
  assert.equal(after.state, 'COMPLETED', after.error ?? '')
  assert.equal((await pair.arrived(relation, 'right', 'FILES', 'a.bin')).toString(), 'for FILES')
}

const CASES: readonly [string, (pair: Pair) => Promise<void>][] = [
  ['validationHashFiles completes with a signed receipt whose hash fits', hashAgreed],
  ['a receipt that somebody else signed does not count', wronglySigned],
  ['a post-reception that fails comes back as a negative receipt, and the emission fails', negative],
  ['four channels and both ways share the sessions of one partner', manyChannels],
  ['a key sent over a key-exchange channel is used after keys accept, not before', keysExchanged],
  ['a receipt that comes in a later session completes the transfer', later],
]

test('receipts and keys between two nodes', async (t) => {
  const pair = await startPair(t)
  for (const [title, run] of CASES) await t.test(title, () => run(pair))
})
