// A session as the engine sees it, whoever called: files out, files in, the end.
//
// The turn decides who may offer files. The caller begins with it and keeps it until `fetch` or `close`; the called
// end gets it by CD, delivers what receipts it owes, lets the engine push what waits (`SessionHost.turn`), and gives it
// back, or ends the session if it had nothing to say (the standard's rule against handing the turn to and fro).
//
// State: the conversation with its own state, the jobs that wait for the turn (the speaker's), the fetches that gave it
// away and wait for it (`#fetching`), and what this end is at: shaking hands, pushing, using its turn.
// Moves: `open` once; then `push` and `fetch` queue jobs that run one after the other while this end has the turn; CD
// from the partner begins a turn of ours; `close` ends in order where the protocol lets it, and cuts the line where not.
// Callers: connect.ts and listen.ts open it. The engine pushes, fetches and closes at any time, many pushes at once.
import type { Socket } from 'node:net'
import { NodeError } from '../../../errors.ts'
import type { PushProgress, PushResult, Reach, Session, SessionHost, WireFile } from '../transport.ts'
import { Conversation } from './conversation.ts'
import type { Handshake } from './protocol/handshake.ts'
import { ListenerRole } from './listener-role.ts'
import { isListener, isResting, isSpeaker } from './protocol/machine.ts'
import { pushFile } from './push-file.ts'
import { ending } from './protocol/reasons.ts'
import type { SessionCrypto } from './settings.ts'
import type { Job } from './speaker.ts'
import { deliverReceipts, Speaker } from './speaker.ts'
import type { WorkspacePool } from './data/workspace.ts'

export type SessionParts = { host: SessionHost; crypto: SessionCrypto; pool: WorkspacePool }
type Line = { socket: Socket; peer: string; encrypted: boolean; calling: boolean; handshakeMs: number }
type Waiting = { resolve: () => void; reject: (error: NodeError) => void }

/** Shorter than the time between two looks for files. */
const UNUSED_MS = 1000

/** The reason it was stopped for, where that is one of ours. */
function stopped(what: string, { reason }: AbortSignal): NodeError {
  return reason instanceof NodeError ? reason : new NodeError('cancelled', `${what} was stopped`)
}

/** The called end cannot end a session in order while the caller keeps it. ESID 05 says that it closes down. */
function closedHere(): NodeError {
  return ending('cancelled', '05', 'the session was closed here')
}

/** The session was over before the file's turn came. Where nothing else was wrong, nothing has failed. */
function untried(conversation: Conversation): NodeError {
  if (conversation.endedInOrder)
    return new NodeError('unavailable', 'the partner had ended the session before the file’s turn came')
  if (conversation.wasCut)
    return new NodeError(
      'cancelled',
      'the session was cut in the middle of another file, before this one’s turn came',
    )
  return conversation.over
}

export class Oftp2Session implements Session {
  readonly encrypted: boolean
  readonly conversation: Conversation
  readonly #calling: boolean
  readonly #parts: SessionParts
  readonly #speaker: Speaker
  readonly #listener: ListenerRole
  /** Those who gave the turn away and wait for it. */
  #fetching: Waiting[] = []
  #turning = false
  /** When the partner last handed the turn over. */
  #turnAt = 0
  #pushing = false
  /** This end asked for the turn and waits for it. */
  #wishing = false
  /** The partner asked for the turn, which this end has. */
  #wished = false
  #handshake: PromiseWithResolvers<void> | undefined = Promise.withResolvers<void>()

  constructor(line: Line, parts: SessionParts) {
    this.encrypted = line.encrypted
    this.#calling = line.calling
    this.#parts = parts
    this.conversation = new Conversation(line)
    this.#speaker = new Speaker(this.conversation)
    this.#listener = new ListenerRole(this.conversation, {
      ...parts,
      encrypted: line.encrypted,
      wantsTurn: () => this.#speaker.busy || this.conversation.closing,
    })
  }

  get unpacks(): boolean {
    return this.conversation.level >= 5
  }

  get contactId(): string {
    return this.conversation.known.contactId
  }

  get reach(): Reach {
    return this.conversation.known.reach
  }

  get ended(): AbortSignal {
    return this.conversation.ended
  }

  /** The partner handed an unused turn over a while ago, and the standard forbids handing it back. */
  get spent(): boolean {
    return this.conversation.state === 'IDLESPCD' && performance.now() - this.#turnAt > UNUSED_MS
  }

  /** A partner that cannot be asked for the turn may keep it for as long as the session lasts. */
  get prompt(): boolean {
    return this.#turning || this.conversation.agreement?.wishes === true
  }

  get answerMs(): number | undefined {
    return this.conversation.answerMs
  }

  /** Runs the handshake; resolves when the session is ready, rejects with why it is not. */
  open(handshake: (ready: () => void) => Handshake): Promise<void> {
    const opened = this.#handshake?.promise ?? Promise.resolve()
    const listener = this.#listener
    const actions = {
      ...handshake(() => this.#ready()),
      offer: listener.offer.bind(listener),
      data: listener.data.bind(listener),
      endFile: listener.endFile.bind(listener),
      receipt: listener.receipt.bind(listener),
      turn: () => this.#takeTurn(),
      wished: () => this.#hearWish(),
      rests: () => this.#rest(),
    }
    this.conversation.start(this.#calling ? 'I_WF_RM' : 'A_NC_ONLY', actions, (error) => this.#over(error))
    return opened
  }

  #ready(): void {
    this.#handshake?.resolve()
    this.#handshake = undefined
    if (this.#calling) this.#speaker.addFirst(this.#receiptsJob())
  }

  push(file: WireFile, progress: PushProgress, signal: AbortSignal): Promise<PushResult> {
    const { conversation } = this
    const { promise, resolve, reject } = Promise.withResolvers<PushResult>()
    if (signal.aborted) return Promise.reject(stopped(file.name, signal))
    const job: Job = {
      run: async () => {
        this.#pushing = true
        await pushFile(conversation, this.#parts.pool, file, progress).then(resolve, reject)
        this.#pushing = false
      },
      drop: () => reject(untried(conversation)),
    }
    const stop = (): void => {
      if (this.#speaker.remove(job)) reject(stopped(file.name, signal))
      else conversation.cut(stopped(file.name, signal))
    }
    signal.addEventListener('abort', stop, { once: true })
    this.#speaker.add(job)
    this.#wish()
    return promise.finally(() => signal.removeEventListener('abort', stop))
  }

  fetch(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    if (signal.aborted) return Promise.reject(stopped('fetching', signal))
    const job: Job = {
      run: async () => {
        if (this.conversation.state === 'IDLESPCD') {
          // The partner has just handed the turn over and has nothing more to say, so there is nothing to wait for. The
          // standard forbids handing an unused turn back. The session ends, and the next call begins with a fresh turn.
          if (this.spent && !this.#speaker.more) this.conversation.sayEnd()
          return resolve()
        }
        this.#fetching.push({ resolve, reject })
        this.conversation.say({ kind: 'CD' })
      },
      drop: reject,
    }
    const stop = (): void => {
      if (this.#speaker.remove(job)) reject(stopped('fetching', signal))
      else this.conversation.abort(stopped('fetching', signal))
    }
    signal.addEventListener('abort', stop, { once: true })
    this.#speaker.add(job)
    return promise.finally(() => signal.removeEventListener('abort', stop))
  }

  async close(): Promise<void> {
    const { conversation } = this
    if (!conversation.isOver && !conversation.closing) {
      conversation.hurry()
      const { state } = conversation
      if (this.#pushing) conversation.abort(closedHere())
      else if (isSpeaker(state) || this.#speaker.busy) this.#speaker.add(this.#passJob())
      // A called end cannot end in order while the caller keeps the turn, and need not wait for it between two files. To
      // a caller the turn comes back: the partner has asked for it to send something, and is let send it.
      else if (isResting(state) && this.#fetching.length === 0 && !this.#calling)
        conversation.abort(closedHere())
      else if (this.#handshake !== undefined) conversation.abort(closedHere())
    }
    await conversation.whenClosed()
  }

  /** Cuts the session short, telling the partner why. */
  abort(error: NodeError): void {
    this.conversation.abort(error)
  }

  #receiptsJob(): Job {
    const { host, crypto } = this.#parts
    return { run: () => deliverReceipts(this.conversation, host, crypto), drop: () => undefined }
  }

  #passJob(): Job {
    return { run: async () => this.#passTurn(), drop: () => undefined }
  }

  #rest(): void {
    this.#wished = false
    this.#wish()
  }

  /** Something waits here while the partner keeps the turn: it is asked for it, once. */
  #wish(): void {
    const { conversation } = this
    if (this.#wishing || !this.#speaker.more || !isResting(conversation.state) || conversation.isOver) return
    if (!conversation.agreement?.wishes) return
    this.#wishing = true
    conversation.wish()
  }

  #hearWish(): void {
    if (this.#handshake !== undefined || isListener(this.conversation.state)) return
    // Once is enough: said a million times, each would be a job more to hold and to move.
    if (this.#wished) return
    this.#wished = true
    // A called end that uses its turn gives it back by itself.
    if (!this.#turning) this.#speaker.addFirst(this.#yieldJob())
  }

  #yieldJob(): Job {
    const run = async () => {
      if (this.#wished && isSpeaker(this.conversation.state)) this.#giveAskedTurn()
    }
    return { run, drop: () => undefined }
  }

  #giveAskedTurn(): void {
    this.#wished = false
    this.conversation.become('CD_DUE')
    this.conversation.say({ kind: 'CD' })
  }

  #takeTurn(): void {
    this.#wishing = false
    this.#turnAt = performance.now()
    this.#speaker.addFirst(this.#receiptsJob())
    if (this.#turning) return
    this.#turning = true
    this.conversation.background(
      this.#useTurn().finally(() => {
        this.#turning = false
      }),
    )
  }

  async #useTurn(): Promise<void> {
    const { conversation } = this
    await this.#speaker.whenIdle()
    if (!conversation.closing && !conversation.isOver) await this.#parts.host.turn(this)
    // Once idle and told so, it may have got something new to say.
    do await this.#speaker.whenIdle()
    while (this.#speaker.busy && !conversation.isOver)
    if (conversation.isOver || !isSpeaker(conversation.state)) return
    for (const waiting of this.#fetching.splice(0)) waiting.resolve()
    if (!this.#calling || conversation.closing || this.#wished) this.#passTurn()
  }

  #passTurn(): void {
    const { conversation } = this
    if (this.#wished && isSpeaker(conversation.state) && !conversation.closing) this.#giveAskedTurn()
    else if (conversation.state === 'IDLESPCD') conversation.sayEnd()
    else if (conversation.closing && !this.#calling) conversation.abort(closedHere())
    else if (conversation.state === 'IDLESP') conversation.say({ kind: 'CD' })
  }

  #over(error: NodeError | undefined): void {
    const { over } = this.conversation
    this.#handshake?.reject(over)
    this.#handshake = undefined
    this.#speaker.dropAll(over)
    this.#listener.lost(over)
    for (const waiting of this.#fetching.splice(0)) {
      if (error === undefined) waiting.resolve()
      else waiting.reject(error)
    }
  }
}
