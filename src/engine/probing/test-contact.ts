// Tests the connection to a partner: what a call would meet, step by step, at the addresses that its channels would call.
// No file is offered or fetched, and the partner never gets the turn.
//
// Channels that would call alike are tested once. Where there is no channel yet, what can be seen without one is.

import { lookup } from 'node:dns/promises'
import { connect, isIP } from 'node:net'
import { DAY_MS } from '../../domain/time.ts'
import type { ConnectionTest, TestedLine } from '../../contract/administration/connection-test.ts'
import type { Oftp2Settings, SftpSettings } from '../../contract/contact-settings.ts'
import { applicationOf, partnerMustCall } from '../../domain/channel.ts'
import { cleanWords, fromSocketError, messageOf, NodeError } from '../../errors.ts'
import type { NodePlaces } from '../../files/partner-folders.ts'
import { channelsOfContact } from '../../store/channels.ts'
import type { ChannelRecord } from '../../store/channels.ts'
import { openProtocolSections } from '../../store/contacts.ts'
import type { ContactRecord } from '../../store/contacts.ts'
import type { Db } from '../../store/database/store.ts'
import type { Seal } from '../../store/seal.ts'
import { addressesOf } from '../sessions/call-terms.ts'
import { makeSessionCrypto } from '../sessions/session-crypto.ts'
import { makeTransferPlan, securityOf, snapshotOf } from '../transfer-plan.ts'
import type { TransferPlan } from '../transfer-plan.ts'
import { tryFolder } from '../transports/folder/try-folder.ts'
import { createOftp2, OFTP2 } from '../transports/oftp2/oftp2.ts'
import { seeCertificate } from '../transports/oftp2/try-tls.ts'
import { loadSsh } from '../transports/ssh/library.ts'
import { SFTP } from '../transports/ssh/sftp-protocol.ts'
import { folderFor } from '../transports/sftp-client/settings.ts'
import { trySftp } from '../transports/sftp-client/try-call.ts'
import type { TriedCall } from '../transports/sftp-client/try-call.ts'
import type { Call, SessionHost } from '../transports/transport.ts'
import { Failed, STEP_MS, Steps } from './steps.ts'

export type Testing = {
  db: Db
  seal: Seal
  places: NodePlaces
  sshPacketMemory: boolean
  signal: AbortSignal
}

const MOST_LINES = 8
const ENDS_SOON_DAYS = 30
const TIMEOUTS = { connectMs: STEP_MS, syncMs: STEP_MS, ackMs: STEP_MS, idleMs: STEP_MS }

/** Channels that would call in the same way, and the address. */
type Way = { plan: TransferPlan | undefined; channels: ChannelRecord[]; host: string; port: number }

export async function testContact(testing: Testing, contact: ContactRecord): Promise<ConnectionTest> {
  const channels = (await channelsOfContact(testing.db, contact.id)).filter(
    ({ config }) => !config.deactivateChannel && !partnerMustCall(config, contact.protocol),
  )
  const lines =
    contact.protocol === 'folder'
      ? [await folderLine(testing, contact, channels)]
      : await calledLines(testing, contact, channels)
  const ok = lines.every(({ steps }) => steps.every(({ outcome }) => outcome !== 'FAILED'))
  return { contactId: contact.id, protocol: contact.protocol, ok, ways: lines }
}

async function folderLine(
  { seal, places: nodePlaces }: Testing,
  contact: ContactRecord,
  channels: readonly ChannelRecord[],
): Promise<TestedLine> {
  const steps = new Steps(channels.map(({ code }) => code))
  const { folder } = openProtocolSections(seal, contact)
  const places = [folder?.inbox, folder?.outbox].filter((path) => path !== undefined)
  if (places.length === 0) steps.fail('RIGHTS', 'neither inbox nor outbox is set', 'CHECK_RIGHTS')
  for (const place of new Set(places))
    await steps.take('RIGHTS', 'CHECK_RIGHTS', async () => {
      await tryFolder(place, nodePlaces)
      return { seen: place, value: undefined }
    })
  return steps.line
}

async function calledLines(
  testing: Testing,
  contact: ContactRecord,
  channels: readonly ChannelRecord[],
): Promise<TestedLine[]> {
  const ways = await waysOf(testing, contact, channels)
  if (ways.length === 0) {
    const steps = new Steps(channels.map(({ code }) => code))
    steps.fail('RESOLVE', 'no address', 'NO_ADDRESS')
    return [steps.line]
  }
  const lines: TestedLine[] = []
  for (const way of ways.slice(0, MOST_LINES)) lines.push(await testWay(testing, contact, way))
  return lines
}

async function waysOf(
  { db, seal }: Testing,
  contact: ContactRecord,
  channels: readonly ChannelRecord[],
): Promise<Way[]> {
  const protocol = contact.protocol === 'sftp' ? SFTP : OFTP2
  const ways = new Map<string, Way>()
  for (const channel of channels) {
    const plan = await makeTransferPlan(db, seal, snapshotOf(channel))
    for (const address of addressesOf(plan, protocol, 0)) {
      // The same sign-in for SFTP; for OFTP2 whatever the session is made with.
      const session = contact.protocol === 'sftp' ? [] : [plan.localId, plan.remoteId, plan.security]
      const key = JSON.stringify([address, session])
      const known = ways.get(key)
      if (known) known.channels.push(channel)
      else ways.set(key, { plan, channels: [channel], ...address })
    }
  }
  if (channels.length > 0) return [...ways.values()]
  const port = protocol.capabilities.defaultPort ?? 0
  return (contact.data.remoteIPs ?? []).flatMap(({ ipAddress, port: own }) =>
    ipAddress ? [{ plan: undefined, channels: [], host: ipAddress, port: own ?? port }] : [],
  )
}

async function testWay(testing: Testing, contact: ContactRecord, way: Way): Promise<TestedLine> {
  const { host, port } = way
  const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
  const steps = new Steps(
    way.channels.map(({ code }) => code),
    address,
  )
  await steps.take('RESOLVE', 'CHECK_NAME', async () => ({ seen: await resolved(host), value: undefined }))
  await steps.take('TCP', 'CHECK_ADDRESS', async () => {
    await openTcp(host, port, address)
    return { seen: address, value: undefined }
  })
  if (contact.protocol === 'sftp') await testSftp(testing, contact, way, steps)
  else await testOftp2(testing, way, steps)
  return steps.line
}

async function resolved(host: string): Promise<string> {
  if (isIP(host) !== 0) return host
  const found = await lookup(host, { all: true }).catch((thrown: unknown) => {
    throw fromSocketError(thrown, host)
  })
  return found.map(({ address }) => address).join(', ')
}

function openTcp(host: string, port: number, peer: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const socket = connect({ host, port, timeout: STEP_MS })
  socket.once('connect', () => resolve())
  socket.once('timeout', () => reject(new NodeError('timed_out', `${peer} did not answer in time`)))
  socket.on('error', (thrown) => reject(fromSocketError(thrown, peer)))
  return promise.finally(() => socket.destroy())
}

async function testOftp2(testing: Testing, { plan, host, port }: Way, steps: Steps): Promise<void> {
  if (!plan) {
    for (const step of ['TLS', 'LOGIN'] as const)
      steps.skip(step, steps.failed ? 'AFTER_FAILURE' : 'NO_CHANNEL')
    return
  }
  const call: Call<Oftp2Settings> = {
    ...callOf(testing, plan, host, port),
    settings: plan.settings.oftp2 ?? {},
  }
  if (plan.security.encrypted) await testTls(call, steps)
  else steps.skip('TLS', steps.failed ? 'AFTER_FAILURE' : 'NOT_ENCRYPTED')
  await steps.take('LOGIN', 'CHECK_LOGIN', async () => {
    const session = await createOftp2({ crypto: makeSessionCrypto() }).connect(call, NOBODY)
    await session.close()
    return { seen: `${plan.localId} → ${plan.remoteId}`, value: undefined }
  })
}

async function testTls(call: Call<Oftp2Settings>, steps: Steps): Promise<void> {
  await steps.take('TLS', 'CHECK_TLS', async () => {
    const { certificate, pinned, refusal } = await seeCertificate(call)
    const daysLeft = Math.floor((certificate.validToDate.getTime() - Date.now()) / DAY_MS)
    const fingerprint = certificate.fingerprint256.replaceAll(':', '').toLowerCase()
    const [subject, issuer] = [oneLine(certificate.subject), oneLine(certificate.issuer)]
    steps.line.certificate = { subject, issuer, fingerprint, daysLeft, pinned }
    if (refusal !== undefined) throw new Failed(`${subject}: the certificate ${refusal}`, 'CHECK_CERTIFICATE')
    const warn = daysLeft < ENDS_SOON_DAYS ? ('RENEW_CERTIFICATE' as const) : undefined
    return { seen: subject, warn, value: undefined }
  })
}

function oneLine(name: string | undefined): string {
  return cleanWords((name ?? '').replaceAll('\n', ', '))
}

async function testSftp(
  testing: Testing,
  contact: ContactRecord,
  { plan, channels, host, port }: Way,
  steps: Steps,
): Promise<void> {
  const settings = plan?.settings.sftp ?? openProtocolSections(testing.seal, contact).sftp
  if (!settings) return steps.fail('LOGIN', 'the contact has no section sftp', 'CHECK_LOGIN')
  const line = await signIn({ ...callOf(testing, plan, host, port), settings }, testing, steps)
  const folders = foldersOf(settings, channels)
  try {
    if (line && folders.length > 0)
      for (const folder of folders)
        await steps.take('RIGHTS', 'CHECK_RIGHTS', async () => {
          await line.tryFolder(folder)
          return { seen: folder, value: undefined }
        })
    else steps.skip('RIGHTS', line ? 'NO_FOLDERS' : 'AFTER_FAILURE')
  } finally {
    await line?.close()
  }
}

/** One call: which of its two steps failed shows by whether the host key was found good. */
async function signIn(
  call: Call<SftpSettings>,
  { sshPacketMemory }: Testing,
  steps: Steps,
): Promise<TriedCall | undefined> {
  if (steps.failed) {
    for (const step of ['HOST_KEY', 'LOGIN'] as const) steps.skip(step, 'AFTER_FAILURE')
    return undefined
  }
  loadSsh({ packetMemory: sshPacketMemory })
  const began = performance.now()
  const took = () => Math.round(performance.now() - began)
  const good = () => {
    const { hostKey } = steps.line
    if (hostKey !== undefined) steps.pass('HOST_KEY', { seen: hostKey }, took())
    return hostKey !== undefined
  }
  try {
    const line = await trySftp(call, ({ type, fingerprint }) => {
      steps.line.hostKey = `${type} ${fingerprint}`
    })
    good()
    const seen = `${call.settings.username}, ${cleanWords(line.ident)}`
    steps.pass('LOGIN', { seen }, took())
    return line
  } catch (thrown) {
    const code = thrown instanceof NodeError ? thrown.code : 'internal'
    if (good()) steps.fail('LOGIN', messageOf(thrown), 'CHECK_LOGIN', took())
    else {
      const advice = code === 'insecure_session' ? 'CHECK_ALGORITHMS' : 'CHECK_HOST_KEY'
      steps.fail('HOST_KEY', messageOf(thrown), advice, took())
      steps.skip('LOGIN', 'AFTER_FAILURE')
    }
    return undefined
  }
}

function foldersOf({ inbox, outbox }: SftpSettings, channels: readonly ChannelRecord[]): string[] {
  const found = channels.flatMap((channel) =>
    [
      channel.config.direction === 'RECEPCION' ? undefined : inbox,
      channel.config.direction === 'EMISION' ? undefined : outbox,
    ].map((written) => written && folderFor(written, 'inbox', applicationOf(channel))),
  )
  return [...new Set(found.filter((folder) => folder !== undefined && folder !== ''))] as string[]
}

function callOf(
  { signal }: Testing,
  plan: TransferPlan | undefined,
  host: string,
  port: number,
): Omit<Call<unknown>, 'settings'> {
  return {
    contactId: plan?.contact.id ?? '',
    host,
    port,
    localId: plan?.localId ?? '',
    remoteId: plan?.remoteId ?? '',
    applications: async () => [],
    reach: { contactId: plan?.contact.id ?? '', openedBy: 'node', refusal: () => notForFiles() },
    ways: 'B',
    timeouts: TIMEOUTS,
    security: plan?.security ?? securityOf({}),
    compression: false,
    signal,
  }
}

function notForFiles(): NodeError {
  return new NodeError('remote_refused', 'this call is a test: it takes no files')
}

async function refuse(): Promise<never> {
  throw notForFiles()
}

/** Whatever the partner brings into a test is refused. */
const NOBODY: SessionHost = {
  admit: refuse,
  attempt: refuse,
  isKnown: () => false,
  proven: async () => {},
  reached: async () => ({ applications: [], ways: 'B' }),
  opened: () => {},
  turn: async () => {},
  offer: refuse,
  receipt: refuse,
  receiptsOwed: async () => [],
  receiptDelivered: async () => {},
  refused: async () => {},
}
