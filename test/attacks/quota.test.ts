// A partner that fills the disk with files that never become any: uploads under temporary names, halves that it never
// finishes. Each contact has a quota.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import ssh2 from 'ssh2'
import type { SFTPWrapper } from 'ssh2'
import { closeAfter, waitFor } from '../support/harness.ts'
import { SAMPLES } from '../support/oftp2/partner.ts'
import type { TrialPartner } from '../support/oftp2/partner.ts'
import { callBank, codeOf, deliver, startCalledBank } from './partner.ts'
import type { CalledBank } from './partner.ts'

const PATIENCE_MS = 180_000
const PASSWORD = 'the partner’s own password'

async function openSftp(t: TestContext, port: number): Promise<SFTPWrapper> {
  const client = new ssh2.Client()
  closeAfter(t, async () => void client.destroy())
  const ready = once(client, 'ready')
  const who = { username: 'acme', password: PASSWORD, hostVerifier: () => true }
  client.connect({ host: '127.0.0.1', port, readyTimeout: PATIENCE_MS, ...who })
  await ready
  return new Promise((resolve, reject) =>
    client.sftp((error, sftp) => (error ? reject(error) : resolve(sftp))),
  )
}

/** Uploads and closes; undefined, or what the node says. */
async function upload(sftp: SFTPWrapper, path: string, octets: number): Promise<string | undefined> {
  const done = new Promise<void>((resolve, reject) =>
    sftp.writeFile(path, Buffer.alloc(octets, 'x'), (error) => (error ? reject(error) : resolve())),
  )
  return done.then(
    () => undefined,
    (error: Error) => error.message,
  )
}

async function refusals(bank: CalledBank): Promise<number> {
  const answer = await fetch(`${bank.url}/metrics`, {
    headers: { authorization: `Bearer ${await bank.token('admin')}` },
  })
  const line = (await answer.text())
    .split('\n')
    .find((one) => one.startsWith('esclusa_quota_refusals_total '))
  return Number(line?.split(' ')[1])
}

async function noted(bank: CalledBank, application: string): Promise<boolean> {
  const entries = bank.store.db.selectFrom('history').select(['event', 'detail'])
  const found = await entries.where('channel_code', '=', codeOf(application)).execute()
  return found.some(({ event, detail }) => event === 'CONNECTION_REFUSED' && detail?.includes('quota met'))
}

async function halfKept(bank: CalledBank): Promise<void> {
  const halves = () => bank.store.db.selectFrom('partial_file').select('key_name').execute()
  await waitFor('the half to be kept', async () => (await halves()).length === 1, PATIENCE_MS)
  await waitFor(
    'the session to be over',
    async () => {
      const open = bank.store.db.selectFrom('transfer').select('id').where('ended_at', 'is', null)
      return (await open.execute()).length === 0
    },
    PATIENCE_MS,
  )
}

test('uploads under temporary names fill no more than the contact’s quota, and that is seen', async (t) => {
  const bank = await startCalledBank(t, 'sftp')
  const access = { username: 'acme', password: PASSWORD }
  await bank.apply({ access, quota: { megabytes: 1, files: 4 } }, { NOMINA: {} })
  const sftp = await openSftp(t, bank.port)
  assert.equal(await upload(sftp, '/NOMINA/in/a.part', 700_000), undefined)
  const said = await upload(sftp, '/NOMINA/in/b.part', 700_000)
  assert.match(String(said), /no room/)
  for (const name of ['c', 'd', 'e']) await upload(sftp, `/NOMINA/in/${name}.part`, 10)
  assert.match(String(await upload(sftp, '/NOMINA/in/f.part', 10)), /no room/)
  await waitFor('the metric', async () => (await refusals(bank)) >= 2, PATIENCE_MS)
  await waitFor('the history entry', () => noted(bank, 'NOMINA'), PATIENCE_MS)

  // What becomes a file makes room.
  await new Promise<void>((resolve, reject) =>
    sftp.rename('/NOMINA/in/a.part', '/NOMINA/in/a.txt', (error) => (error ? reject(error) : resolve())),
  )
  assert.equal(await upload(sftp, '/NOMINA/in/g.part', 700_000), undefined)
})

test('halves that are never finished are as many as the quota has, and OFTP2 hears that there is no room', async (t) => {
  const bank = await startCalledBank(t, 'oftp2')
  await bank.apply({ quota: { files: 1 } }, { NOMINA: {} })
  const first = await callBank(t, bank.port)
  assert.ok(typeof first !== 'string')
  const sfid = { ...SAMPLES.SFID, originator: 'ACME', destination: 'BANCO', user: 'NOMINA' }
  first.say({ ...sfid, dataset: 'HALF', description: 'half.txt' })
  await first.expect('SFPA')
  first.say(SAMPLES.DATA)
  first.close()
  await halfKept(bank)

  const again = await callBank(t, bank.port)
  assert.ok(typeof again !== 'string')
  again.say({ ...sfid, dataset: 'OTHER', description: 'other.txt', time: '1200000002' })
  const answer = await again.hear()
  assert.deepEqual(answer?.kind === 'SFNA' && [answer.reason, answer.retry, answer.text], [
    '06',
    'Y',
    'no room for the file now',
  ])
  await waitFor('the history entry', () => noted(bank, 'NOMINA'), PATIENCE_MS)
  // The half itself can be finished, and then there is room again.
  again.say({ ...sfid, dataset: 'HALF', description: 'half.txt' })
  await again.expect('SFPA')
  await again.say(SAMPLES.DATA, SAMPLES.EFID).expect('EFPA')
  assert.equal(await deliver(again, 'NOMINA', 'third.txt'), 'EFPA')
})

/** Offers a file of so many blocks of 1 KiB; SFPA, or the reason of the refusal and whether it may come again. */
async function announce(partner: TrialPartner, dataset: string, blocks: number): Promise<string> {
  const ids = { originator: 'ACME', destination: 'BANCO', user: 'NOMINA' }
  partner.say({ ...SAMPLES.SFID, ...ids, dataset, description: dataset, blocks })
  const answer = await partner.hear()
  return answer?.kind === 'SFNA' ? `${answer.reason} ${answer.retry}` : (answer?.kind ?? 'closed')
}

test('a file announced as larger than the quota is refused at the offer, and the session goes on', async (t) => {
  const bank = await startCalledBank(t, 'oftp2')
  await bank.apply({ quota: { megabytes: 1 } }, { NOMINA: {} })
  const partner = await callBank(t, bank.port)
  assert.ok(typeof partner !== 'string')
  assert.equal(await announce(partner, 'LARGE', 1025), '06 Y')
  // Blocks are rounded up: this one may be 1 MiB or less, and there is so much room.
  assert.equal(await announce(partner, 'FITS', 1024), 'SFPA')
  await partner.say(SAMPLES.DATA, SAMPLES.EFID).expect('EFPA')
  assert.equal(await deliver(partner, 'NOMINA', 'next.txt'), 'EFPA')
  assert.deepEqual(await bank.received('NOMINA'), ['FITS', 'next.txt'])
})

test('a file announced as larger than the disk is refused at the offer; what is here of it takes no more room', async (t) => {
  const settings = { ESCLUSA_DISK_RESERVE_MEGABYTES: '1' }
  const bank = await startCalledBank(t, 'oftp2', { settings })
  await bank.apply({ quota: { megabytes: 1_000_000_000 } }, { NOMINA: {} })
  const blocks = 100_000_000_000
  const first = await callBank(t, bank.port)
  assert.ok(typeof first !== 'string')
  assert.equal(await announce(first, 'HUGE', blocks), '06 Y')
  assert.equal(await announce(first, 'HALF', 1), 'SFPA')
  first.say(SAMPLES.DATA)
  first.close()
  await halfKept(bank)
  await bank.store.write((tx) =>
    tx
      .updateTable('partial_file')
      .set({ position: blocks * 1024 })
      .execute(),
  )

  const again = await callBank(t, bank.port)
  assert.ok(typeof again !== 'string')
  assert.equal(await announce(again, 'HALF', blocks), 'SFPA')
})
