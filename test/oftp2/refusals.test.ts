// What a node does not let in over OFTP2, and what both ends are told of it: the transfer that failed says why in
// words, nothing has arrived, and the called node's channels remember callers that were turned away.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { waitFor } from '../support/harness.ts'
import { makeIdentity, startPair } from './pair.ts'
import type { ChannelSetting, Pair, RelationEnd } from './pair.ts'

const APPLICATION = 'FILES'

type Refusal = {
  title: string
  /** Differences from a relation that works, at the calling and at the called end. */
  caller?: ChannelSetting
  called?: ChannelSetting
  calledId?: string
  /** The called end has this application instead. */
  calledApplication?: string
  port?: 'plainPort' | 'tlsPort'
  code: string
  error: RegExp
  /** The called channel's history says so; a stranger leaves no history. */
  history?: RegExp
  /** The octets were taken before it was refused: the called end has a transfer that failed so, and the file in quarantine. */
  received?: string
}

function closedNow(): { initialHour: string; finishHour: string } {
  const hour = (ahead: number) => new Date(Date.now() + ahead * 3_600_000).toISOString().slice(11, 16)
  return { initialHour: hour(2), finishHour: hour(3) }
}

async function refusals(pair: Pair): Promise<Refusal[]> {
  const stranger = await makeIdentity('stranger')
  const ended = await makeIdentity('ended', -1)
  const connection = (inner: object, ips = ['127.0.0.1']) => ({
    connection: { ips, advancedConfigurationConnection: inner },
  })
  return [
    {
      title: 'a wrong password',
      caller: { security: pair.keys('left', { localKey: 'GUESSED' }) },
      code: 'login_refused',
      error: /password|ESID 04/i,
      history: /password/,
    },
    {
      title: 'a caller whose id is not known',
      calledId: 'O0013SOMEBODY',
      code: 'login_refused',
      error: /ESID 03/,
    },
    {
      title: 'a plain session where the channel asks for TLS',
      called: { security: pair.keys('right', { cryptography: true, ciphrate: 'TRANSMISION' }) },
      port: 'plainPort',
      code: 'remote_refused',
      error: /ESID 10/,
      history: /encrypted session/,
    },
    {
      title: 'TLS with a partner that speaks none there',
      caller: { security: pair.keys('left', { cryptography: true, ciphrate: 'TRANSMISION' }) },
      port: 'plainPort',
      code: 'connect_failed',
      error: /^no TLS with \S+: the other end does not speak TLS there$/,
    },
    {
      title: 'TLS with a partner whose certificate is not the one kept for it',
      caller: {
        security: pair.keys('left', {
          cryptography: true,
          ciphrate: 'TRANSMISION',
          rsaRemoteKey: stranger.certificate,
        }),
      },
      port: 'tlsPort',
      code: 'login_refused',
      error: /certificate/,
    },
    {
      title: 'a certificate login with another key',
      caller: {
        security: pair.keys('left', { authentication: 'CERTIFICATE', rsaLocalKey: stranger.identity }),
      },
      called: { security: pair.keys('right', { authentication: 'CERTIFICATE' }) },
      code: 'login_refused',
      error: /ESID 11/,
      history: /challenge|authentic/i,
    },
    {
      title: 'a certificate login with a certificate that has ended',
      caller: { security: pair.keys('left', { authentication: 'CERTIFICATE' }) },
      called: {
        security: pair.keys('right', { authentication: 'CERTIFICATE', rsaRemoteKey: ended.certificate }),
      },
      code: 'remote_refused',
      error: /ESID 10/,
      history: /its certificate ended on/,
    },
    {
      title: 'an address that is not the partner’s',
      called: connection({ validateIp: true }, ['192.0.2.7']),
      code: 'login_refused',
      error: /ESID 03/,
      history: /^127\.0\.0\.1: .*not an address/,
    },
    {
      title: 'a call outside the hours',
      called: connection(closedNow()),
      code: 'remote_busy',
      error: /ESID 08/,
      history: /hours/,
    },
    {
      title: 'a call to a channel that does the calling itself',
      called: connection({ callingEnd: 'LOCAL' }),
      code: 'login_refused',
      error: /ESID 03/,
      history: /takes calls/,
    },
    {
      title: 'an application that the called end does not have',
      calledApplication: 'OTHER',
      code: 'remote_refused',
      error: /a\.bin.*SFNA 02|SFNA 02/,
    },
    {
      title: 'a file for a channel that only sends',
      called: { direction: 'EMISION' },
      code: 'remote_refused',
      error: /takes no files/,
    },
    {
      title: 'a file without signature where one is asked for',
      called: { svcff: true, receptionff: true },
      code: 'remote_refused',
      error: /EFNA 20/,
      received: 'bad_signature',
    },
  ]
}

async function turnedAway(pair: Pair, refusal: Refusal): Promise<void> {
  const application = refusal.calledApplication ?? APPLICATION
  const relation = await pair.relate(() => {
    const left: RelationEnd = {
      channels: { [APPLICATION]: { security: pair.keys('left'), ...refusal.caller } },
      ...(refusal.port && { port: pair.right[refusal.port] }),
    }
    const right: RelationEnd = {
      channels: { [application]: { security: pair.keys('right'), ...refusal.called } },
      ...(refusal.calledId && { oftp2: { id: refusal.calledId } }),
    }
    return { left, right }
  })
  await pair.put(relation, 'left', APPLICATION, 'a.bin', 'not for everybody')
  const id = await pair.send('left', relation.code('left', APPLICATION))
  const { state, error, error_code } = await pair.ended('left', id)
  assert.equal(state, 'FAILED')
  assert.equal(error_code, refusal.code, error ?? '')
  assert.match(error ?? '', refusal.error)
  assert.deepEqual(await pair.received(relation, 'right', application), [])
  const code = relation.code('right', application)
  const refusedIn = (history: { event: string; detail: string | null }[]) =>
    history.filter(({ event }) => event === 'CONNECTION_REFUSED')
  // The caller is told first, then it is written down.
  if (refusal.history)
    await waitFor('the history', async () => refusedIn(await pair.history('right', code)).length > 0)
  const history = await pair.history('right', code)
  const refused = refusedIn(history)
  if (refusal.history) assert.match(refused[0]?.detail ?? 'nothing in the history', refusal.history)
  else assert.deepEqual(refused, [])
  const { db } = pair.right.store
  const transfers = db
    .selectFrom('transfer')
    .select(['id', 'state', 'error_code', 'direction'])
    .where('channel_code', '=', code)
  if (refusal.received === undefined) return assert.deepEqual(await transfers.execute(), [])
  const ended = async () => (await transfers.execute()).some(({ state }) => state === 'FAILED')
  await waitFor('the reception to end', ended)
  const taken = await transfers.execute()
  const [{ id: kept, ...failed } = { id: '' }] = taken
  assert.deepEqual(failed, { state: 'FAILED', error_code: refusal.received, direction: 'RECEPCION' })
  const told = await pair.history('right', code)
  assert.ok(told.some(({ event, detail }) => event === 'TRANSFER_FAILED' && detail?.includes(kept)))
  const path = join(pair.right.dataDir, 'quarantine', kept, 'a.bin')
  assert.equal(await readFile(path, 'utf8'), 'not for everybody')
}

test('what is refused over OFTP2, and what is said of it', async (t) => {
  const pair = await startPair(t)
  for (const refusal of await refusals(pair))
    await t.test(`${refusal.title} is refused`, () => turnedAway(pair, refusal))
})
