// The SFTP transport for calls: this node signs in at the partner's server, pushes to its inbox, fetches from its
// outbox. One connection carries many files at once; push may be called again before an earlier one has finished. It stays
// open until it is closed: whoever holds it may take long to make the next file ready.

import { NodeError } from '../../../errors.ts'
import { FilesLeft } from '../files-left.ts'
import type { SmallBatches } from '../small-batches.ts'
import type {
  Call,
  Leftover,
  PushProgress,
  Reach,
  Session,
  SessionHost,
  Transport,
  WireFile,
} from '../transport.ts'

import { fetchFiles } from './fetch.ts'
import { FetchLine, FetchLines } from './fetch-lines.ts'
import { openLine } from './line.ts'
import type { Line, OfferedKey } from './line.ts'
import { discardParts, pushFile } from './push.ts'
import type { PushContext } from './push.ts'
import { smallBatches } from './push-small.ts'
import { Remote } from './remote.ts'
import { Requests } from './requests.ts'
import { checkSettings, folderFor } from './settings.ts'
import type { SftpSettings } from '../../../contract/contact-settings.ts'
import { SFTP } from '../ssh/sftp-protocol.ts'
import { SideLines } from './side-lines.ts'
import type { Opened } from './side-lines.ts'
import { StepsInDoubt } from './steps-in-doubt.ts'

export interface SftpClientOptions {
  /** Ask the server to sync each file to its disk where it can. On unless turned off. */
  syncFiles?: boolean
}

export function sftpClientTransport(options: SftpClientOptions = {}): Transport<SftpSettings> {
  const inDoubt = new StepsInDoubt()
  const left = new FilesLeft()
  return {
    ...SFTP,
    async connect(call, host) {
      const settings = checkSettings(call.settings)
      const opened = await openRemote({ ...call, settings })
      return new SftpClientSession({ ...call, settings }, host, { ...opened, inDoubt, left, options })
    },
  }
}

/** Signed in, and SFTP spoken. */
export async function openRemote(
  call: Call<SftpSettings>,
  known?: (key: OfferedKey) => void,
): Promise<{ line: Line; remote: Remote }> {
  const line = await openLine(call, known)
  const requests = new Requests(line, call.timeouts.ackMs)
  const remote = new Remote(requests, line.ident)
  try {
    await remote.greet()
  } catch (error) {
    await hangUp(line, requests, 0)
    throw error
  }
  return { line, remote }
}

interface Parts {
  line: Line
  remote: Remote
  inDoubt: StepsInDoubt
  left: FilesLeft
  options: SftpClientOptions
}

class SftpClientSession implements Session {
  readonly contactId: string
  readonly reach: Reach
  readonly encrypted = true
  readonly ended: AbortSignal
  readonly small: SmallBatches | undefined
  readonly #call: Call<SftpSettings>
  readonly #host: SessionHost
  readonly #parts: Parts
  readonly #sides: SideLines
  readonly #pushing: PushContext
  readonly #fetchLine: FetchLine
  #working = 0

  constructor(call: Call<SftpSettings>, host: SessionHost, parts: Parts) {
    this.contactId = call.contactId
    this.reach = call.reach
    this.ended = parts.remote.requests.ended
    this.#call = call
    this.#host = host
    this.#parts = parts
    this.#fetchLine = new FetchLine(parts.remote)
    this.#sides = new SideLines(parts.remote, {
      allowed: call.settings.sessions,
      open: (signal) => openRemote({ ...call, signal }),
      hangUp: (opened) => this.#hangUp(opened),
    })
    this.#pushing = {
      remote: parts.remote,
      folderOf: (application) => folderFor(call.settings.inbox, 'inbox', application),
      localId: call.localId,
      peer: parts.line.peer,
      inDoubt: parts.inDoubt,
      sync: parts.options.syncFiles !== false,
      sides: this.#sides,
    }
    this.small = smallBatches(this.#pushing)
    const stop = () => parts.remote.requests.end(new NodeError('cancelled', 'the session was stopped'))
    call.signal.addEventListener('abort', stop, { once: true })
    this.ended.addEventListener('abort', () => {
      call.signal.removeEventListener('abort', stop)
      void this.#sides.rest()
    })
  }

  push(file: WireFile, progress: PushProgress, signal: AbortSignal) {
    return this.#busy(() => pushFile(this.#pushing, file, progress, signal))
  }

  discard(application: string, find: () => Promise<readonly Leftover[]>): Promise<void> {
    if (this.#call.settings.inbox === undefined) return Promise.resolve()
    const folder = this.#pushing.folderOf(application)
    return this.#busy(() => discardParts(this.#pushing, folder, find))
  }

  fetch(signal: AbortSignal): Promise<void> {
    const { settings, reach } = this.#call
    return this.#busy(async () => {
      const applications = await this.#call.applications()
      const perApplication = settings.outbox?.includes('{application}') === true
      // Without the placeholder one folder serves all: it says nothing of the application unless there is only one.
      const names = perApplication ? applications : [applications.length === 1 ? (applications[0] ?? '') : '']
      const outboxes = names.map((application) => ({
        folder: folderFor(settings.outbox, 'outbox', application),
        application,
      }))
      const { remote, left } = this.#parts
      // The session's end ends it, also where it goes on over a further connection.
      const over = AbortSignal.any([signal, this.ended])
      const lines = new FetchLines(this.#fetchLine, {
        open: settings.sessions === 1 ? undefined : () => openRemote({ ...this.#call, signal: over }),
        hangUp: (opened) => this.#hangUp(opened),
      })
      try {
        await fetchFiles({ remote, lines, host: this.#host, reach, left, outboxes }, over)
      } finally {
        await lines.end()
      }
    })
  }

  async close(): Promise<void> {
    const { line, remote } = this.#parts
    await Promise.all([hangUp(line, remote.requests, this.#graceMs), this.#sides.rest()])
  }

  #hangUp({ line, remote }: Opened): Promise<void> {
    return hangUp(line, remote.requests, this.#graceMs)
  }

  get #graceMs(): number {
    return Math.min(2000, this.#call.timeouts.ackMs)
  }

  async #busy<T>(work: () => Promise<T>): Promise<T> {
    this.#working++
    try {
      return await work()
    } finally {
      if (--this.#working === 0) void this.#sides.rest()
    }
  }
}

/** Says goodbye, waits a moment for the socket to close, and cuts it otherwise. */
export async function hangUp(line: Line, requests: Requests, graceMs: number): Promise<void> {
  const { socket, client } = line
  const reason = new NodeError('connection_lost', 'the session was closed')
  if (!socket.destroyed && graceMs > 0 && !requests.ended.aborted) {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, graceMs)
      socket.once('close', () => (clearTimeout(timer), resolve()))
      client.end()
    })
  }
  requests.end(reason)
  if (!socket.closed) {
    await new Promise<void>((resolve) => {
      socket.once('close', () => resolve())
      socket.destroy()
    })
  }
}
