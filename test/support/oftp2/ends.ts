// For tests alone: two real ends on loopback, the files they exchange, a line that breaks where it is told to, and a
// check that nothing is left open.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  constants,
  createPrivateKey,
  createSign,
  createVerify,
  privateDecrypt,
  publicEncrypt,
} from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type {
  Call,
  Listener,
  PushProgress,
  RecordFormat,
  Session,
  SessionSecurity,
  Timeouts,
  WireFile,
} from '../../../src/engine/transports/transport.ts'
import type { Command } from '../../../src/engine/transports/oftp2/protocol/commands.ts'
import { decodeCommand } from '../../../src/engine/transports/oftp2/protocol/commands.ts'
import { createOftp2, listenOftp2 } from '../../../src/engine/transports/oftp2/oftp2.ts'
import type { ListenLimits } from '../../../src/engine/transports/oftp2/listen.ts'
import type { Oftp2Settings } from '../../../src/contract/contact-settings.ts'
import type { SessionCrypto } from '../../../src/engine/transports/oftp2/settings.ts'
import { TrialHost } from './host.ts'
import { reachAll } from '../reach.ts'
import type { Reach } from '../../../src/engine/transports/transport.ts'
import { OPEN_SESSION } from '../open-session.ts'

export const CALLER = 'O0013000001CALLER'
export const CALLED = 'O0013000002CALLED'
export const TIMEOUTS: Timeouts = { connectMs: 5_000, syncMs: 5_000, ackMs: 5_000, idleMs: 20_000 }

/** RSA without CMS: the session only needs that what one end closes the other opens. */
export const trialCrypto: SessionCrypto = {
  encryptChallenge: (pem, challenge) =>
    publicEncrypt({ key: pem, padding: constants.RSA_PKCS1_OAEP_PADDING }, challenge),
  decryptChallenge: (pem, closed) =>
    privateDecrypt({ key: createPrivateKey(pem), padding: constants.RSA_PKCS1_OAEP_PADDING }, closed),
  signReceipt: (pem, content) => createSign('sha256').update(content).sign(createPrivateKey(pem)),
  signatureFault: (pem, signature, content) =>
    createVerify('sha256').update(content).verify(pem, signature) ? undefined : 'another key',
}

export type KeyPair = { key: string; cert: string }

let pairs: KeyPair[] | undefined

/** Two self-signed key pairs made by openssl; undefined where there is no openssl. */
export function keyPairs(): [KeyPair, KeyPair] | undefined {
  try {
    pairs ??= [makePair('caller'), makePair('called')]
  } catch {
    return undefined
  }
  const [first, second] = pairs
  return first === undefined || second === undefined ? undefined : [first, second]
}

/** A new key and its certificate, self-signed or signed by `authority`. */
export function makePair(name: string, authority?: KeyPair): KeyPair {
  const folder = mkdtempSync(join(tmpdir(), 'oftp2-keys-'))
  const key = join(folder, 'key.pem')
  const cert = join(folder, 'cert.pem')
  try {
    const signer: string[] = []
    if (authority !== undefined) {
      writeFileSync(join(folder, 'ca.pem'), authority.cert)
      writeFileSync(join(folder, 'ca-key.pem'), authority.key)
      signer.push('-CA', join(folder, 'ca.pem'), '-CAkey', join(folder, 'ca-key.pem'))
    }
    const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', `/CN=${name}`]
    execFileSync(
      'openssl',
      [...made, ...signer, '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert],
      { stdio: 'ignore' },
    )
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

export type EndOptions = {
  settings?: Oftp2Settings
  ways?: 'S' | 'R' | 'B'
  compression?: boolean
  security?: Partial<SessionSecurity>
  timeouts?: Partial<Timeouts>
}

export type PairOptions = {
  caller?: EndOptions
  called?: EndOptions
  tls?: KeyPair
  limits?: Partial<ListenLimits>
  crypto?: SessionCrypto
}

/** A called end that listens and a caller that can call it; each with its own host. */
export class TrialEnds {
  readonly caller = new TrialHost()
  readonly called = new TrialHost()
  readonly #options: PairOptions
  #listener: Promise<Listener> | undefined
  readonly #stop = new AbortController()
  #closed: () => void = () => undefined

  constructor(options: PairOptions = {}) {
    this.#options = options
    const { called = {}, caller = {} } = options
    this.called.partners.set(CALLER, {
      ...this.#party('caller', 'partner', called),
      localId: CALLED,
      remoteId: CALLER,
    })
    this.caller.partners.set(CALLED, {
      ...this.#party('called', 'partner', caller),
      localId: CALLER,
      remoteId: CALLED,
    })
  }

  #party(
    contactId: string,
    openedBy: Reach['openedBy'],
    { settings = {}, ways = 'B', compression = false, security = {}, timeouts = {} }: EndOptions,
  ) {
    return {
      contactId,
      settings,
      reach: reachAll(contactId, openedBy),
      ways,
      compression,
      security: { ...OPEN_SESSION, ...security },
      timeouts: { ...TIMEOUTS, ...timeouts },
    }
  }

  async listen(): Promise<number> {
    const { tls, limits, crypto = trialCrypto } = this.#options
    if (this.#listener === undefined) this.#closed = closeAfterwards(() => this.#abandon())
    this.#listener ??= listenOftp2({
      host: '127.0.0.1',
      port: 0,
      sessionHost: this.called,
      crypto,
      ...(tls === undefined ? {} : { tls }),
      ...(limits === undefined ? {} : { limits }),
    })
    return (await this.#listener).address.port
  }

  /** The caller's view of a call; `port` other than the listener's for a line with a proxy in it. */
  async call(port?: number, signal: AbortSignal = this.#stop.signal): Promise<Session> {
    const call: Call<Oftp2Settings> = {
      ...this.#party('called', 'node', this.#options.caller ?? {}),
      applications: async () => ['PAY'],
      host: '127.0.0.1',
      port: port ?? (await this.listen()),
      localId: CALLER,
      remoteId: CALLED,
      signal,
    }
    return createOftp2({ crypto: this.#options.crypto ?? trialCrypto }).connect(call, this.caller)
  }

  async #abandon(): Promise<void> {
    this.#stop.abort()
    await (await this.#listener)?.close()
  }

  /** Everything closes, and nothing is left of it. */
  async close(): Promise<void> {
    await (await this.#listener)?.close()
    this.#listener = undefined
    this.#closed()
    await nothingOpen()
  }
}

const open = new Set<() => unknown>()

/** Has `close` called after the test unless what it closes has closed by then. Gives the way to say so. */
export function closeAfterwards(close: () => unknown): () => void {
  open.add(close)
  return () => open.delete(close)
}

/** For `afterEach`: a test that failed must not leave the process hanging on its sockets. */
export async function tidy(): Promise<void> {
  for (const close of open) {
    open.delete(close)
    await close()
  }
}

const LEFT = /^(TCP|TLS|Timeout|FSReq)/

function left(): string[] {
  return process.getActiveResourcesInfo().filter((one) => LEFT.test(one))
}

/** Sockets close over some turns of the event loop; then there must be none, and no timer either. */
export async function nothingOpen(): Promise<void> {
  for (let turn = 0; turn < 2_000 && left().length > 0; turn += 1) await nextTurn()
  assert.deepEqual(left(), [])
}

/** `inMemory`: all of its octets are known, as those of small files are. */
export type FileOptions = Partial<Omit<WireFile, 'source'>> & { inMemory?: boolean }

let counter = 0

export function wireFile(
  content: Uint8Array,
  format: RecordFormat,
  { inMemory = false, ...options }: FileOptions = {},
): WireFile {
  counter += 1
  return {
    transferId: `t${counter}`,
    key: { name: 'Trial File.dat', date: '20261115', time: `103000${String(counter).padStart(4, '0')}` },
    application: 'PAY',
    name: 'Trial File.dat',
    format,
    envelope: undefined,
    originalSize: content.length,
    restartFrom: 0,
    signedReceipt: false,
    verify: false,
    mayBeThere: false,
    ...options,
    source: {
      size: content.length,
      ...(inMemory && { octets: content }),
      read: async (into, position) =>
        Buffer.from(content.buffer, content.byteOffset, content.length).copy(into, 0, position),
    },
  }
}

/** What a push told on its way. */
export class Progress implements PushProgress {
  position = 0
  safePosition = 0
  placed = false

  moved(position: number): void {
    assert.ok(position >= this.position, 'progress went back')
    this.position = position
  }

  safe(position: number): void {
    this.safePosition = Math.max(this.safePosition, position)
  }

  async placing(): Promise<void> {
    this.placed = true
  }
}

export const never = new AbortController().signal

export function push(session: Session, file: WireFile, progress: Progress = new Progress()) {
  return session.push(file, progress, never)
}

/** Octets that look like data: some runs, some noise; the same for the same seed. */
export function noise(length: number, seed = 1): Buffer {
  const bytes = Buffer.alloc(length)
  let state = seed * 2654435761
  for (let at = 0; at < length; at += 1) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    bytes[at] = state >>> 28 < 5 ? 0x20 : state >>> 24
  }
  return bytes
}

/** Records of changing length, empty ones too, each behind its 2-octet length. */
export function variableRecords(count: number, longest: number, seed = 1): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; at < count; at += 1) {
    const length = (at * 37 + seed) % (longest + 1)
    const record = Buffer.concat([Buffer.alloc(2), noise(length, at + seed)])
    record.writeUInt16BE(length)
    parts.push(record)
  }
  return Buffer.concat(parts)
}

export type Cut = { from: 'caller' | 'called'; after: number }

/** A line to `port` that breaks after so many octets from one side. It keeps what went each way. */
export class BreakingLine {
  readonly sent: Record<Cut['from'], Buffer[]> = { caller: [], called: [] }
  readonly #server = createServer((socket) => this.#join(socket))
  readonly #target: { host: string; port: number }
  readonly #cut: Cut | undefined
  readonly #sockets = new Set<Socket>()

  constructor(port: number, cut?: Cut, host = '127.0.0.1') {
    this.#target = { host, port }
    this.#cut = cut
  }

  async open(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return (this.#server.address() as AddressInfo).port
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }

  #join(caller: Socket): void {
    const called = connect(this.#target)
    const breakAll = () => {
      caller.destroy()
      called.destroy()
    }
    closeAfterwards(breakAll)
    for (const [from, socket, other] of [
      ['caller', caller, called],
      ['called', called, caller],
    ] as const) {
      this.#sockets.add(socket)
      let passed = 0
      socket.setNoDelay(true)
      socket.on('error', breakAll)
      socket.on('close', breakAll)
      socket.on('data', (chunk: Buffer) => {
        const room = this.#cut?.from === from ? this.#cut.after - passed : chunk.length
        const part = chunk.subarray(0, Math.max(0, room))
        passed += part.length
        this.sent[from].push(part)
        if (room > chunk.length || this.#cut?.from !== from) other.write(part)
        else other.end(part, breakAll)
      })
    }
    if (this.#cut?.after === 0) breakAll()
  }
}

/** Where each stream buffer of what was sent ends. */
export function boundaries(sent: readonly Buffer[]): number[] {
  const all = Buffer.concat(sent)
  const ends: number[] = []
  for (let at = 0; at + 4 <= all.length;) {
    at += all.readUInt32BE(at) & 0xffffff
    ends.push(at)
  }
  return ends
}

/** The commands of what was sent, as far as they came whole. */
export function commandsIn(sent: readonly Buffer[]): Command[] {
  const all = Buffer.concat(sent)
  let start = 0
  return boundaries(sent).flatMap((end) => {
    const exchange = all.subarray(start + 4, end)
    start = end
    return end > all.length ? [] : [decodeCommand(exchange, 5)]
  })
}

/** What a DATA payload stands for: octets, and ends of records. A sub-record is its count, then octets or one for all. */
export function contentsOfData(payload: Uint8Array): { octets: number; records: number } {
  const found = { octets: 0, records: 0 }
  for (let at = 0; at < payload.length;) {
    const header = payload[at] ?? 0
    const count = header & 0x3f
    found.octets += count
    found.records += header >>> 7
    at += 1 + ((header & 0x40) === 0 ? count : 1)
  }
  return found
}
