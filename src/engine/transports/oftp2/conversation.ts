// One session's line: says and hears commands by the table of machine.ts, runs its clocks, and ends once.
//
// State: the table's state, the partner and what was agreed with it once that is known, the credit of the file being
// sent, the one who waits for an answer (`#waiting`: OFTP2 never has two questions open), work in the background, and how
// it ended (`#outcome`).
// Moves: `say`, `ask` and `sayData` for what this end says; `#hear` for the partner; `become` where nothing is said. All
// go by the table. Whoever breaks it ends the session: the partner with ESID and its reason, this node with an internal
// error. `#finish` is the only way out and tells everyone who waits. After it nothing is heard any more.
// Callers: the session, its speaker and its listener role. Only whoever has the turn may `ask`; `abort` is for all, at
// any time.
import type { Socket } from 'node:net'
import { messageOf, NodeError } from '../../../errors.ts'
import type { Command, CommandOf, Level } from './protocol/commands.ts'
import { decodeCommand, encodeCommand, kindOf } from './protocol/commands.ts'
import { EMPTY_STREAM_BUFFER } from './data/buffers.ts'
import { Link } from './link.ts'
import { Credit } from './protocol/credit.ts'
import type { Action, Clock, Event, State } from './protocol/machine.ts'
import { eventOf, isResting, MACHINE } from './protocol/machine.ts'
import type { Agreement } from './protocol/negotiation.ts'
import { ending, errorOfEsid, esidOf, esidText, fault } from './protocol/reasons.ts'
import type { Party } from './settings.ts'

export type Actions = {
  [A in Exclude<Action, 'answer' | 'credit' | 'ended' | 'data'>]: (command: Command) => void
} & {
  data: (exchange: Uint8Array) => void
  /** The partner, who listens, would like the turn. */
  wished: () => void
  /** This end listens, and nothing is under way. */
  rests: () => void
}

/** How long a partner may take to close the line after the end was said. */
const LINGER_MS = 2_000
/** Before a partner is known, nothing longer than an SSID is taken. */
const STRANGER_BUFFER = 1_024

export class Conversation {
  state: State = 'IDLE'
  readonly link: Link
  readonly peer: string
  /** Set when the partner is known. From then on the clocks are those of its channel. */
  party: Party | undefined
  agreement: Agreement | undefined
  /** The lower of the two levels, once the partner has named its own. */
  level: Level = 5
  /** For the file that this end sends. */
  readonly credit = new Credit()
  /** The session is to end as soon as the protocol allows: no long idle times any more. */
  closing = false
  /** The partner has taken a file from this end. */
  carried = false
  /** The shortest time that an answer has taken. */
  answerMs: number | undefined

  readonly #calling: boolean
  readonly #handshakeMs: number
  #actions: Actions | undefined
  wasCut = false
  readonly #ended = new AbortController()
  #outcome: { error: NodeError | undefined } | undefined
  #waiting: { resolve: (command: Command) => void; reject: (error: NodeError) => void } | undefined
  readonly #closed = Promise.withResolvers<void>()
  readonly #tasks = new Set<Promise<void>>()
  #onFinish: (error: NodeError | undefined) => void = () => undefined

  constructor(line: { socket: Socket; peer: string; calling: boolean; handshakeMs: number }) {
    this.peer = line.peer
    this.#calling = line.calling
    this.#handshakeMs = line.handshakeMs
    this.link = new Link(line.socket, line.peer, {
      exchange: (bytes) => this.#hear(bytes),
      empty: () => this.#hearWish(),
      faulty: (error) => this.abort(error),
      timedOut: () => this.#timedOut(),
      closed: (error) => this.#lineClosed(error),
    })
    this.link.buffers.largest = STRANGER_BUFFER
  }

  get ended(): AbortSignal {
    return this.#ended.signal
  }

  /** What was agreed. Reading it too early is a fault of this node. */
  get agreed(): Agreement {
    if (this.agreement === undefined) throw new NodeError('internal', 'the session has agreed on nothing yet')
    return this.agreement
  }

  get known(): Party {
    if (this.party === undefined) throw new NodeError('internal', 'the partner is not known yet')
    return this.party
  }

  start(
    state: 'I_WF_RM' | 'A_NC_ONLY',
    actions: Actions,
    onFinish: (error: NodeError | undefined) => void,
  ): void {
    this.#actions = actions
    this.#onFinish = onFinish
    this.become(state)
  }

  /** The partner's name is right: longer commands may come. */
  trust(): void {
    this.link.buffers.largest = 100_003
  }

  become(state: State): void {
    if (MACHINE[this.state].becomes?.includes(state) !== true)
      throw new NodeError('internal', `no way from ${this.state} to ${state}`)
    this.#enter(state)
  }

  say(command: Command, event: Event = command.kind): void {
    const bytes = encodeCommand(command, this.level)
    this.#move(event)
    void this.link.write(bytes)
  }

  /** Tells a partner that understands it that this end, listening at rest, would like the turn. */
  wish(): void {
    if (this.state === 'IDLELICD') this.become('IDLELI')
    void this.link.write(EMPTY_STREAM_BUFFER)
    this.link.flush()
  }

  /** Says a command that is answered by another. */
  ask(command: Command): Promise<Command> {
    return new Promise((resolve, reject) => {
      if (this.#outcome !== undefined) return reject(this.over)
      const asked = performance.now()
      const answered = (answer: Command) => {
        this.answerMs = Math.min(this.answerMs ?? Infinity, performance.now() - asked)
        resolve(answer)
      }
      this.say(command)
      this.link.flush()
      this.#waiting = { resolve: answered, reject }
    })
  }

  /** Sends whole DATA exchange buffers; resolves when the octets may be overwritten. */
  sayData(bytes: Uint8Array, buffers: number): Promise<void> {
    if (!this.credit.spend(buffers)) throw new NodeError('internal', 'more data than credit')
    this.#move(this.credit.left === 0 ? 'DATA_LAST' : 'DATA')
    return this.link.write(bytes)
  }

  /** Resolves when the partner gives credit. */
  creditGiven(): Promise<Command> {
    return new Promise((resolve, reject) => {
      if (this.#outcome !== undefined) return reject(this.over)
      this.#waiting = { resolve, reject }
    })
  }

  /** Why the session is over, for whoever comes too late. */
  get over(): NodeError {
    return this.#outcome?.error ?? new NodeError('connection_lost', `the session with ${this.peer} is over`)
  }

  get isOver(): boolean {
    return this.#outcome !== undefined
  }

  get endedInOrder(): boolean {
    return this.#outcome !== undefined && this.#outcome.error === undefined
  }

  /** The normal end, which only a speaker with nothing to say may choose. */
  sayEnd(): void {
    this.say({ kind: 'ESID', reason: '00', text: '' })
    this.link.ignore()
    this.link.clock(LINGER_MS)
    this.#finish(undefined)
  }

  /** Ends the session because of an error, of either end. Safe to call at any time, any number of times. */
  abort(thrown: unknown): void {
    if (this.#outcome !== undefined) return
    const error =
      thrown instanceof NodeError ? thrown : new NodeError('internal', messageOf(thrown), { cause: thrown })
    const esid: CommandOf<'ESID'> = { kind: 'ESID', reason: esidOf(error), text: esidText(error) }
    void this.link.write(encodeCommand(esid, this.level))
    this.state = 'WF_NDISC'
    this.link.ignore()
    this.link.clock(Math.min(LINGER_MS, this.party?.timeouts.ackMs ?? LINGER_MS))
    this.#finish(error)
  }

  /**
   * Ends the session for the sake of one file that is under way: in the middle of one the protocol has no other way out. It
   * says nothing of the files that wait for their turn.
   */
  cut(thrown: unknown): void {
    this.wasCut ||= this.#outcome === undefined
    this.abort(thrown)
  }

  /** The session is to end: from now on even an idle partner gets only the time for an answer. */
  hurry(): void {
    this.closing = true
    if (this.#outcome === undefined) this.#enter(this.state)
  }

  /** Work that outlives the command that began it; its failure ends the session. */
  background(task: Promise<void>): void {
    const settled = task.catch((error: unknown) => this.abort(error))
    this.#tasks.add(settled)
    void settled.finally(() => this.#tasks.delete(settled))
  }

  /** The line is closed and nothing of this session runs any more. */
  async whenClosed(): Promise<void> {
    await this.#closed.promise
    while (this.#tasks.size > 0) await Promise.all(this.#tasks)
  }

  #enter(state: State): void {
    this.state = state
    this.link.clock(this.#clockMs(MACHINE[state].clock))
    // After what is being said, if anything is.
    if (isResting(state)) queueMicrotask(() => this.#actions?.rests())
  }

  #hearWish(): void {
    if (this.#outcome === undefined && this.agreement?.wishes) this.#actions?.wished()
  }

  #clockMs(clock: Clock): number | undefined {
    const timeouts = this.party?.timeouts
    if (clock === 'none') return undefined
    if (timeouts === undefined) return this.#handshakeMs
    if (clock === 'sync') return timeouts.syncMs
    // The partner's own idle clock runs too. Ours is longer by the time for an answer, so that the speaker can end first.
    const owed = clock === 'ack' || (clock === 'turn' && this.#calling)
    return owed || this.closing ? timeouts.ackMs : timeouts.idleMs + timeouts.ackMs
  }

  #move(event: Event): void {
    const next = MACHINE[this.state].says[event]
    if (next === undefined) throw new NodeError('internal', `${event} cannot be said in state ${this.state}`)
    this.#enter(next)
  }

  #hear(exchange: Uint8Array): void {
    if (this.#outcome !== undefined) return
    if (kindOf(exchange) === 'DATA') {
      this.#rule('DATA')
      this.#actions?.data(exchange)
      return
    }
    const command = decodeCommand(exchange, this.level)
    const [action, next] = this.#rule(eventOf(command))
    if (action === 'ended') return this.#partnerEnded(command)
    this.#enter(next)
    if (action === 'answer') return this.#answered(command)
    if (action === 'credit') {
      this.credit.renew(this.agreed.credit)
      return this.#answered(command)
    }
    if (action !== 'data') this.#actions?.[action](command)
  }

  #rule(event: Event): readonly [Action, State] {
    const rule = MACHINE[this.state].hears[event]
    if (rule === undefined) throw fault('02', `${event} is out of place in state ${this.state}`)
    return rule
  }

  #answered(command: Command): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.resolve(command)
  }

  #partnerEnded(command: Command): void {
    const { reason, text } = command.kind === 'ESID' ? command : { reason: '99', text: '' }
    const atRest = ['IDLELI', 'IDLELICD', 'IDLESP', 'IDLESPCD'].includes(this.state)
    this.state = 'IDLE'
    this.link.end()
    this.link.clock(LINGER_MS)
    if (reason !== '00') this.#finish(errorOfEsid(reason, text))
    else if (atRest) this.#finish(undefined)
    else this.#finish(new NodeError('connection_lost', `${this.peer} ended the session before it was done`))
  }

  #timedOut(): void {
    if (this.#outcome !== undefined) return this.link.destroy()
    if (this.closing)
      return this.abort(ending('cancelled', '05', 'the partner did not let the session end in time'))
    const silent = `${this.peer} did not answer in time`
    const why =
      this.state === 'I_WF_RM'
        ? `${silent}: it took the connection and never greeted; is that its OFTP2 port, and is TLS on at both ends or at neither?`
        : `${silent} (state ${this.state})`
    this.abort(new NodeError('timed_out', why))
  }

  #lineClosed(error: NodeError | undefined): void {
    this.state = 'IDLE'
    this.#finish(error ?? this.link.lost)
    this.#closed.resolve()
  }

  #finish(error: NodeError | undefined): void {
    if (this.#outcome !== undefined) return
    this.#outcome = { error }
    const waiting = this.#waiting
    this.#waiting = undefined
    this.#onFinish(error)
    waiting?.reject(this.over)
    this.#ended.abort(this.over)
  }
}
