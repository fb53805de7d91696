// Receives files and sends some, and tells in between what the database and the partner know. disk-order.test.ts runs it under strace:
// what is told is a path that nobody has, looked for on the disk, so that it stands in the journal among the rest.

import { accessSync, fsync, linkSync, mkdirSync, openSync, writeFileSync } from 'node:fs'
import { hash } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Channel } from '../../src/contract/channel.ts'
import type { TransferFileRecord } from '../../src/domain/transfer.ts'
import { placeWhole } from '../../src/engine/receiving/place-file.ts'
import type { RunningTransfer } from '../../src/engine/running-transfer.ts'
import { NodeError } from '../../src/errors.ts'
import { markOf } from '../../src/files/place.ts'
import type { Store } from '../../src/store/database/store.ts'
import { makeTestKey } from '../support/cms-keys.ts'
import { waitFor } from '../support/harness.ts'
import { startRig } from './rig.ts'
import type { Rig } from './rig.ts'
import { offerOf } from './wire.ts'

const [elsewhere = ''] = process.argv.slice(2)

function tell(what: string): void {
  try {
    accessSync(`/told/${what}`)
  } catch {
    // There is no such file.
  }
}

/** Each state of each file, once: before it is committed and after. */
function tellOfRows(rig: Rig): void {
  const store = rig.store as { write: Store['write'] }
  const { write } = store
  const told = new Set<string>()
  store.write = async (change) => {
    const news: string[] = []
    const value = await write(async (tx) => {
      const done = await change(tx)
      const files = await tx.selectFrom('transfer_file').select(['name', 'phase']).execute()
      const halves = await tx.selectFrom('partial_file').select(['key_name', 'position']).execute()
      const all = [
        ...files.map(({ name, phase }) => `${name} ${phase}`),
        ...halves.map((one) => `${one.key_name} at ${one.position}`),
      ]
      news.push(...all.filter((one) => !told.has(one)))
      for (const one of news) {
        told.add(one)
        tell(`writes ${one}`)
      }
      return done
    })
    for (const one of news) tell(`wrote ${one}`)
    return value
  }
}

async function bring(rig: Rig, application: string, octets: number, filePath: string, more: Channel = {}) {
  const channel: Channel = {
    direction: 'RECEPCION',
    directories: [{ direction: 'RECEPCION', filePath }],
    ...more,
  }
  // Where it is made on the way, that waits for the thread that is kept busy below.
  mkdirSync(filePath)
  tell(`begins ${application}`)
  await rig.putChannel(`BANCO-ACME-${application}`, channel)
  const size = { size: octets, restartFrom: octets }
  return rig.host().offer(offerOf(application, { application, ...size }))
}

/** Keeps the one thread that syncs files busy for a while: who does not wait for a sync gets ahead of it. */
function delaySyncs(rig: Rig): void {
  const file = openSync(rig.place.root, 'r')
  for (let nth = 0; nth < 3; nth++) fsync(file, () => {})
}

async function receive(...what: Parameters<typeof bring>): Promise<void> {
  const [rig, application, octets] = what
  const incoming = await bring(...what)
  await incoming.write(Buffer.alloc(octets, 'a'), 0)
  delaySyncs(rig)
  await incoming.complete({ size: octets })
  tell(`acknowledged ${application}`)
  const { state, error } = await rig.lastReception(`BANCO-ACME-${application}`)
  if (state !== 'COMPLETED') throw new Error(`${application}: ${error}`)
}

/** A restart point that was due, and one of a line that broke. */
async function half(rig: Rig): Promise<void> {
  const every = { advancedConfigurationTransmission: { registersBlock: 100 } }
  const incoming = await bring(rig, 'HALF', 5_000_000, join(rig.place.files, 'half'), { connection: every })
  await incoming.write(Buffer.alloc(150_000, 'a'), 0)
  await waitFor('the restart point', () =>
    rig.store.db
      .selectFrom('partial_file')
      .select('key_name')
      .where('position', '=', 102_400)
      .executeTakeFirst(),
  )
  await incoming.write(Buffer.alloc(10_000, 'a'), 150_000)
  await incoming.abandon(new NodeError('connection_lost', 'cut'), true)
}

/** A file that its channel takes only with a signature. */
async function unsigned(rig: Rig): Promise<void> {
  const { certificatePem: rsaRemoteKey } = await makeTestKey('theirs')
  const signed = { svcff: true, receptionff: true, security: { rsaRemoteKey } }
  const incoming = await bring(rig, 'UNSIGNED', 10, join(rig.place.files, 'unsigned'), signed)
  await incoming.write(Buffer.alloc(10, 'a'), 0)
  await incoming.complete({ size: 10 }).catch(() => tell('refused UNSIGNED'))
}

/** What a node finds that takes a reception over, where the one before had linked the file, or marked it as well. */
async function takenOver(rig: Rig, left: 'LINKED' | 'MARKED'): Promise<void> {
  const folder = join(rig.place.files, left)
  mkdirSync(folder)
  const [from, path] = [join(rig.place.root, `${left}.part`), join(folder, left)]
  writeFileSync(left === 'MARKED' ? markOf(from) : from, 'a')
  linkSync(left === 'MARKED' ? markOf(from) : from, path)
  const file = { name: left, path, phase: 'WHOLE', size: 1, hash: hash('sha256', 'a'), stagedPath: from }
  const running = { context: rig.context, held: { id: left, fence: 2 }, plan: { channel: {} } }
  tell(`begins ${left}`)
  // What of both is asked for.
  await placeWhole(running as RunningTransfer, file as TransferFileRecord, from, {
    directory: { filePath: folder },
  })
  tell(`placed ${left}`)
}

/** Small files to a partner's folder, by the dozen. */
async function dozen(rig: Rig): Promise<void> {
  const code = 'BANCO-ACME-DOZEN'
  const filePath = join(rig.place.files, 'out')
  tell('begins DOZEN')
  await rig.putChannel(code, {
    direction: 'EMISION',
    directories: [{ direction: 'EMISION', filePath }],
  })
  for (let nth = 0; nth < 8; nth++) await rig.put(`D${nth}`, Buffer.alloc(10_000, 'a'))
  delaySyncs(rig)
  const { state, error } = await rig.sendAndEnd(code)
  if (state !== 'COMPLETED') throw new Error(`DOZEN: ${error}`)
}

test('files come in, and go', async (t) => {
  const rig = (await startRig(t)).run()
  const to = (name: string) => join(rig.place.files, name)
  Object.assign(rig.context.roots, { fileRoots: [rig.place.files, elsewhere] })
  tellOfRows(rig)
  await receive(rig, 'SMALL', 10_000, to('small'))
  const moved = { postReceptionAction: 'RECEPTION_MOVE', postReceptionDirectory: to('moved') } as const
  await receive(rig, 'BIG', 3_000_000, to('big'), { integrations: moved })
  await half(rig)
  const preReceptionFile = await rig.script('replace', 'echo other > "$1.new" && mv "$1.new" "$1"')
  await receive(rig, 'SCRIPT', 10_000, to('script'), { integrations: { preReceptionFile } })
  await unsigned(rig)
  await takenOver(rig, 'LINKED')
  await takenOver(rig, 'MARKED')
  await dozen(rig)
  if (elsewhere) await receive(rig, 'FAR', 10_000, join(elsewhere, 'far'))
})
