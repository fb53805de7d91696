// A transport for tests that stands for a network one: it is really the folder transport, with addresses, calls and
// faults that can be looked at and ordered. It plays any protocol name, since the engine goes by that.

import { NodeError } from '../../src/errors.ts'
import { createFolder } from '../../src/engine/transports/folder/folder.ts'
import type {
  Call,
  Capabilities,
  Protocol,
  PushProgress,
  PushResult,
  Session,
  SessionHost,
  Transport,
  WireFile,
} from '../../src/engine/transports/transport.ts'
import { OFTP2 } from '../../src/engine/transports/oftp2/oftp2.ts'
import { SFTP } from '../../src/engine/transports/ssh/sftp-protocol.ts'
import type { Rig } from './rig.ts'

const folderTransport = createFolder({ scriptRoots: [] })

export type LineOptions = {
  protocol?: string
  capabilities?: Partial<Capabilities>
  encrypted?: boolean
  /** Called before each connection: what it throws is the connection's fault. */
  onConnect?: (call: Call<unknown>) => Promise<void> | void
  /** Stands before the real push. */
  onPush?: (
    push: () => Promise<PushResult>,
    file: WireFile,
    progress: PushProgress,
    signal: AbortSignal,
  ) => Promise<PushResult>
}

export class Line implements Transport<never> {
  readonly protocol: string
  readonly capabilities: Capabilities
  readonly sections: Protocol['sections']
  readonly callerIds: Protocol['callerIds']
  readonly keyName = (name: string) => name
  readonly calls: Call<unknown>[] = []
  readonly sessions: Session[] = []
  readonly #options: LineOptions
  inbox = ''
  outbox = ''

  constructor(options: LineOptions = {}) {
    this.#options = options
    this.protocol = options.protocol ?? 'sftp'
    this.capabilities = {
      records: false,
      envelopes: false,
      oneFileAtATime: false,
      pickup: this.protocol === 'sftp',
      receipts: false,
      remoteHash: true,
      defaultPort: 22,
      ...options.capabilities,
    }
    const played = [SFTP, OFTP2].find(({ protocol }) => protocol === this.protocol) ?? folderTransport
    this.sections = played.sections
    this.callerIds = played.callerIds
  }

  get addresses(): string[] {
    return this.calls.map(({ host, port }) => `${host}:${port}`)
  }

  /** Where what is pushed through it lands: the rig's partner folders. */
  leadTo(rig: Rig): void {
    this.inbox = rig.place.inbox
    this.outbox = rig.place.outbox
  }

  async connect(call: Call<never>, host: SessionHost): Promise<Session> {
    this.calls.push(call)
    await this.#options.onConnect?.(call)
    return this.open(call, host)
  }

  /** A session, also one that the partner opened. */
  async open(call: Call<unknown>, host: SessionHost): Promise<Session> {
    const inner = await folderTransport.connect(
      {
        ...call,
        settings: { inbox: this.inbox, outbox: this.outbox },
        security: { ...call.security, encrypted: false },
      },
      host,
    )
    const { onPush } = this.#options
    const session: Session = {
      contactId: inner.contactId,
      reach: inner.reach,
      encrypted: this.#options.encrypted ?? true,
      ended: inner.ended,
      push: (file, progress, signal) => {
        const push = () => inner.push(file, progress, signal)
        return onPush ? onPush(push, file, progress, signal) : push()
      },
      fetch: (signal) => inner.fetch(signal),
      close: () => inner.close(),
    }
    this.sessions.push(session)
    return session
  }
}

export function refuses(): never {
  throw new NodeError('connect_failed', 'nobody answers there')
}

/** A gate that holds whoever comes until it is opened. */
export class Gate {
  waiting = 0
  #open: (() => void) | undefined
  readonly #opened = new Promise<void>((resolve) => (this.#open = resolve))

  async pass(signal?: AbortSignal): Promise<void> {
    this.waiting++
    const aborted = new Promise<never>((_resolve, reject) =>
      signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
    )
    await Promise.race([this.#opened, aborted])
  }

  open(): void {
    this.#open?.()
  }
}
