// What the interop suite knows of the foreign server: where it is, how to call it, and files to send to it. Calls are made
// by our own transport, or, to see which levels it speaks, by octets of the standard.

import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { makeSessionCrypto } from '../../src/engine/sessions/session-crypto.ts'
import { compress } from '../../src/engine/transforms/cms/compressed-data.ts'
import { encrypt } from '../../src/engine/transforms/cms/encrypt.ts'
import { sign } from '../../src/engine/transforms/cms/sign.ts'
import { collect, once, runSteps } from '../../src/engine/transforms/step.ts'
import { createOftp2 } from '../../src/engine/transports/oftp2/oftp2.ts'
import { suiteOf } from '../../src/engine/transports/oftp2/protocol/suites.ts'
import type { Oftp2Settings } from '../../src/contract/contact-settings.ts'
import type {
  Admission,
  Envelope,
  RecordFormat,
  Session,
  SessionSecurity,
  WireFile,
} from '../../src/engine/transports/transport.ts'
import { BreakingLine, never, TIMEOUTS, wireFile } from '../support/oftp2/ends.ts'
import { OPEN_SESSION } from '../support/open-session.ts'
import { ForeignLine, n, text, x } from '../support/oftp2/foreign.ts'
import { TrialHost } from '../support/oftp2/host.ts'
import { reachAll } from '../support/reach.ts'
import type { Level } from './foreign-node.ts'

const setting = (name: string) => process.env[`ESCLUSA_INTEROP_OFTP2${name}`]
const pem = (name: string) => {
  const path = setting(name)
  return path === undefined ? undefined : readFileSync(path, 'utf8')
}

const address = setting('')
export const skip =
  address === undefined ? 'set ESCLUSA_INTEROP_OFTP2=host:port to run against a foreign server' : false
const [host = '', port = ''] = (address ?? '').split(/:(?=\d+$)/)
const tls = setting('_TLS') !== undefined
const ca = pem('_TLS_CA')
const servername = setting('_TLS_NAME')
export const hasPassword = setting('_PASSWORD') !== undefined
const [rsaLocalKey, rsaRemoteKey] = [pem('_KEY'), pem('_CERTIFICATE')]
/** Keys are set: the session is authenticated by them, and files and receipts can be protected. */
export const keys = rsaLocalKey !== undefined && rsaRemoteKey !== undefined

const security: SessionSecurity = {
  ...OPEN_SESSION,
  encrypted: tls,
  authentication: rsaLocalKey === undefined ? 'PASSWORD' : 'CERTIFICATE',
  localKey: setting('_PASSWORD'),
  remoteKey: setting('_EXPECTED'),
  rsaLocalKey,
  rsaRemoteKey,
}

const PARTY: Admission<Oftp2Settings> = {
  contactId: 'foreign',
  localId: setting('_LOCAL') ?? 'O0013000001ESCLUSA',
  remoteId: setting('_REMOTE') ?? 'O0013000002FOREIGN',
  settings: { tls: { ...(ca && { ca }), ...(servername && { servername }) } },
  reach: reachAll('foreign'),
  ways: 'B',
  // A foreign server takes the time that it takes.
  timeouts: { ...TIMEOUTS, connectMs: 30_000, syncMs: 30_000, ackMs: 60_000 },
  security,
  compression: false,
}

/** What comes in by any of the sessions: the server may hand it over in whichever it likes. */
export const engine = new TrialHost()
engine.acknowledges = true
engine.partners.set(PARTY.remoteId, PARTY)

type Change = { compression?: boolean; security?: Partial<SessionSecurity>; port?: number; suite?: string }

/** A session of its own, closed however `run` ends: a file that is refused must not disturb the tests after it. */
export async function withSession(change: Change, run: (session: Session) => Promise<void>): Promise<void> {
  const session = await createOftp2({ crypto: makeSessionCrypto() }).connect(
    {
      ...PARTY,
      settings: { ...PARTY.settings, ...(change.suite && { suite: change.suite as Oftp2Settings['suite'] }) },
      applications: async () => [],
      host: change.port === undefined ? host : '127.0.0.1',
      port: change.port ?? Number(port),
      security: { ...PARTY.security, ...change.security },
      compression: change.compression ?? false,
      signal: never,
    },
    engine,
  )
  try {
    await run(session)
  } finally {
    await session.close()
  }
}

/** A line to the server that breaks after so many octets; undefined where its certificate would not fit. */
export async function cutLine(octets: number) {
  if (tls && ca !== undefined && servername === undefined) return undefined
  const line = new BreakingLine(Number(port), { from: 'caller', after: octets }, host)
  return { port: await line.open(), close: () => line.close() }
}

let counter = 0

/** A file that the server has not seen before, in this run or another. */
export function fresh(title: string, content: Buffer, format: RecordFormat): WireFile {
  const name = `interop-${title}.dat`
  return wireFile(content, format, {
    name,
    key: { name, ...stamp() },
    application: setting('_APPLICATION') ?? '',
  })
}

function stamp(): { date: string; time: string } {
  const now = new Date().toISOString().replaceAll(/\D/g, '')
  counter += 1
  return { date: now.slice(0, 8), time: now.slice(8, 14) + String(counter).padStart(4, '0') }
}

type Layers = 'signed' | 'encrypted' | 'compressed' | 'compressed, signed and encrypted'

/** The same file in its envelope: signed, then compressed, then encrypted (RFC 5024, 6.5). */
export async function protect(file: WireFile, suite: string, layers: Layers): Promise<WireFile> {
  const content = Buffer.alloc(file.source.size)
  await file.source.read(content, 0)
  const used = suiteOf(suite) ?? ({ cipher: 'AES-256-CBC', digest: 'sha256' } as const)
  const has = (layer: string) => layers.includes(layer)
  const steps = [
    ...(has('signed')
      ? [sign({ privateKeyPem: rsaLocalKey ?? '', digest: used.digest, includeCertificate: false })]
      : []),
    ...(has('compressed') ? [compress()] : []),
    ...(has('encrypted')
      ? [encrypt({ certificateOrPublicKeyPem: rsaRemoteKey ?? '', cipher: used.cipher })]
      : []),
  ]
  const closed = await collect(runSteps(once(content), steps))
  const envelope: Envelope = {
    signed: has('signed'),
    compressed: has('compressed'),
    encrypted: has('encrypted'),
    ...used,
  }
  const { name, key, application } = file
  return wireFile(closed, file.format, { name, key, application, envelope, originalSize: content.length })
}

function socketTo(): Promise<Socket> {
  return new Promise((resolve, reject) => {
    // The levels are asked for, not the server's name: our own transport has checked its certificate before.
    const socket = tls
      ? connectTls({ host, port: Number(port), rejectUnauthorized: false })
      : connect(Number(port), host)
    socket.once(tls ? 'secureConnect' : 'connect', () => resolve(socket)).once('error', reject)
  })
}

/** A session at that level, spoken in octets: a small file, and what comes when the server gets the turn. */
export async function trySession(level: Level, dataset: string): Promise<{ ok: boolean; what: string }> {
  const socket = await socketTo()
  try {
    return await spokenAt(new ForeignLine(socket), level, dataset)
  } catch (thrown) {
    return { ok: false, what: thrown instanceof Error ? thrown.message : String(thrown) }
  } finally {
    socket.destroy()
  }
}

async function spokenAt(line: ForeignLine, level: Level, dataset: string) {
  const { localId, remoteId } = PARTY
  const hear = async () => text((await line.hear()) ?? Buffer.alloc(0))
  const isNew = level === '5'
  if (!(await hear()).startsWith('I')) return { ok: false, what: 'no SSRM came' }
  line.say(
    `X${level}${x(localId, 25)}${x(setting('_PASSWORD') ?? '', 8)}04096BNYN010${isNew ? 'N    ' : '     '}${x('', 8)}\r`,
  )
  const answer = await hear()
  if (!answer.startsWith(`X${level}`))
    return { ok: false, what: answer.startsWith('X') ? `it answers with level ${answer[1]}` : said(answer) }
  const { date, time } = stamp()
  const when = level >= '4' ? `   ${date}${time}` : `${x('', 9)}${date.slice(2)}${time.slice(0, 6)}`
  const tail = isNew ? `${n(1, 13)}${n(1, 13)}${n(0, 17)}000000N000` : `${n(1, 7)}${n(0, 9)}`
  const user = x(setting('_APPLICATION') ?? '', 8)
  line.say(`H${x(dataset, 26)}${when}${user}${x(remoteId, 25)}${x(localId, 25)}U00000${tail}`)
  const taken = await hear()
  if (!taken.startsWith('2')) return { ok: false, what: said(taken) }
  line
    .say('D', Uint8Array.of(0x85), 'hello')
    .say(isNew ? `T${n(0, 17)}${n(5, 17)}` : `T${n(0, 9)}${n(5, 12)}`)
  const ended = await hear()
  if (!ended.startsWith('4')) return { ok: false, what: said(ended) }
  line.say('R')
  let hasReceipt = false
  for (let next = await hear(); /^[ENH]/.test(next); next = await hear()) {
    hasReceipt ||= next.startsWith(`E${x(dataset, 26)}${when}`)
    line.say(next.startsWith('H') ? `399Y${isNew ? '000' : ''}` : 'P')
  }
  line.say(isNew ? 'F00000\r' : 'F00\r')
  return { ok: true, what: hasReceipt ? 'a file and its receipt' : 'a file; no receipt in the same session' }
}

function said(answer: string): string {
  return answer === '' ? 'it hung up' : `it answers ${JSON.stringify(answer.slice(0, 60))}`
}
