// Sessions with partners: those that this node opened, and those that the partner opened. A channel gets a session that
// is at least as secure as it asks for.
//
// State: sessions that we opened with the number of their users (`#opened`), calls that are being made (`#opening`),
// further sessions beside those (`#extra`), and sessions of callers (`#called`).
// Moves: `lend` opens a session or shares one. The last user that gives it back starts its idle time, after which it is
// closed; with `desconnection`, or after a failure, it is closed at once. One that ends by itself is forgotten.
// Many files open further ones (`Lent.lines`); those are closed when there is nothing more for them.
// Callers: run-transfer.ts and automation.ts lend sessions and give each back once. The session host adds callers'
// sessions. engine.ts closes all of them when it stops.

import { NodeError, toNodeError, tooManyOpen } from '../../errors.ts'
import { channelsOfContact, findChannel } from '../../store/channels.ts'
import type { ChannelRecord } from '../../store/channels.ts'
import { addressesOf } from './call-terms.ts'
import type { Address } from './call-terms.ts'
import { callFailed, callSucceeded } from './circuit-breaker.ts'
import { applicationOf } from '../../domain/channel.ts'
import { ExtraSessions, linesWanted } from './extra-sessions.ts'
import { Fetches } from './fetches.ts'
import { SharedTurn } from './shared-turn.ts'
import { compressesLine } from '../transfer-plan.ts'
import type { TransferPlan } from '../transfer-plan.ts'
import { reachOfCall } from './reach.ts'
import type { Call, Protocol, Reach, Session, SessionHost, Transport } from '../transports/transport.ts'
import type { EngineContext } from '../engine-context.ts'
import { Lines } from '../sending/lines.ts'
import type { ExtraLine, MoreLines } from '../sending/lines.ts'

type Kept = {
  session: Session
  lines: Lines
  /** Resolves when the further sessions that were given back are closed. */
  closed: () => Promise<unknown>
  users: number
  idle: NodeJS.Timeout | undefined
  turn: SharedTurn
}

export type Lent = {
  session: Session
  /** The partner sends its receipts and files. No transfer depends on that: receipts may come another day. */
  letPartnerSpeak: (awaitsReceipts: boolean) => Promise<void>
  giveBack: (ok: boolean) => Promise<void>
  /** The session with those that are opened beside it while many files wait. All who were lent it share them. */
  lines: Lines
}

export class SessionPool {
  readonly fetches = new Fetches()
  readonly #context: EngineContext
  readonly #transports: ReadonlyMap<string, Transport<never>>
  readonly #hostOf: (protocol: string) => SessionHost
  /** The partner has had its turn in a session that this node opened. */
  readonly #spoken: (reach: Reach) => void
  readonly #opened = new Map<string, Kept>()
  readonly #opening = new Map<string, Promise<Session>>()
  readonly #extra: ExtraSessions
  readonly #extraCalls = new Set<Promise<unknown>>()
  readonly #called = new Map<string, Set<Session>>()
  /** That their partners have answered could not be written: those still count as they did before the call. */
  readonly #unnoted = new WeakSet<Session>()
  readonly #linesOver = new WeakMap<Session, Lines>()
  /** Aborted after the drain, not when the engine begins to stop: what runs through the sessions gets that time. */
  readonly #over = new AbortController()

  constructor(
    context: EngineContext,
    transports: ReadonlyMap<string, Transport<never>>,
    hostOf: (protocol: string) => SessionHost,
    spoken: (reach: Reach) => void,
  ) {
    this.#context = context
    this.#transports = transports
    this.#hostOf = hostOf
    this.#spoken = spoken
    this.#extra = new ExtraSessions(context.now)
  }

  /** The partner opened this session. Channels may use it until it ends. */
  add(session: Session): void {
    const some = this.#called.get(session.contactId) ?? new Set()
    this.#called.set(session.contactId, some.add(session))
    session.ended.addEventListener('abort', () => some.delete(session), { once: true })
  }

  /** A session that the partner has open with us and for which the channel exists. */
  async calledBy(plan: TransferPlan): Promise<Session | undefined> {
    const some = [...(this.#called.get(plan.contact.id) ?? [])].filter(({ ended }) => !ended.aborted)
    const channel = some.length > 0 ? await findChannel(this.#context.store.db, plan.code) : undefined
    return channel && some.find((session) => !session.ended.aborted && !session.reach.refusal(channel))
  }

  /** For whoever uses a session that was not lent to it. No other is opened beside it. */
  linesOver(session: Session): Lines {
    const known = this.#linesOver.get(session)
    if (known) return known
    const lines = new Lines(session)
    this.#linesOver.set(session, lines)
    return lines
  }

  /** Opens a session, or lends an open one. `attempt` picks the first address where the channel rotates them. */
  async lend(plan: TransferPlan, attempt: number, use: 'push' | 'fetch' = 'push'): Promise<Lent> {
    const key = this.#keyOf(plan)
    const kept = this.#opened.get(key)
    if (use === 'fetch' && kept?.session.spent) await this.#close(key, kept)
    const known = this.#opened.get(key)
    if (known && !known.session.ended.aborted) {
      const lent = this.#use(key, known, plan)
      if (this.#unnoted.has(known.session)) await this.#noteAnswer(known.session)
      return lent
    }
    let opening = this.#opening.get(key)
    if (!opening) {
      opening = this.#open(plan, attempt).finally(() => this.#opening.delete(key))
      this.#opening.set(key, opening)
    }
    const session = await opening
    const now = this.#opened.get(key)
    if (now?.session === session) return this.#use(key, now, plan)
    const turn = new SharedTurn(() => this.#letPartnerSpeak(session))
    const { more, closed } = this.#moreLines(plan, attempt)
    const lines = new Lines(session, more)
    const fresh: Kept = { session, lines, closed, users: 0, idle: undefined, turn }
    this.#opened.set(key, fresh)
    session.ended.addEventListener('abort', () => this.#forget(key, fresh), { once: true })
    return this.#use(key, fresh, plan)
  }

  /**
   * Channels share a session when everything that was agreed at its start is the same. Without `rotations` a channel may
   * call its first address alone, and does not go on over a session with the second.
   */
  #keyOf(plan: TransferPlan): string {
    const { contact, localId, remoteId, security, channel, timeouts } = plan
    const transport = this.#transports.get(contact.protocol)
    const addresses = transport ? addressesOf(plan, transport, 0) : []
    const compresses = channel.connection?.advancedConfigurationTransmission?.compression === 'SI'
    const agreed = [security, addresses, timeouts, compresses]
    return JSON.stringify([contact.id, localId, remoteId, agreed, contact.settings])
  }

  #forget(key: string, kept: Kept): void {
    clearTimeout(kept.idle)
    if (this.#opened.get(key) === kept) this.#opened.delete(key)
  }

  #use(key: string, kept: Kept, plan: TransferPlan): Lent {
    clearTimeout(kept.idle)
    kept.users++
    const sharing = kept.turn.begin()
    let back = false
    const hangUp = plan.channel.connection?.advancedConfigurationConnection?.desconnection === true
    return {
      session: kept.session,
      lines: kept.lines,
      letPartnerSpeak: (awaitsReceipts) => sharing.turn(awaitsReceipts),
      giveBack: async (ok) => {
        if (back) return
        back = true
        if (kept.users === 1) await kept.closed()
        await sharing.end()
        kept.users--
        if (kept.users > 0) return
        if (ok && !hangUp) {
          kept.idle = setTimeout(() => void this.#close(key, kept), plan.timeouts.idleMs)
          kept.idle.unref()
        } else await this.#close(key, kept)
      },
    }
  }

  #letPartnerSpeak(session: Session): Promise<void> {
    const { stopping, log } = this.#context
    return session
      .fetch(stopping)
      .catch((thrown: unknown) =>
        log.info({ err: thrown, contact: session.contactId }, 'the partner’s turn broke off'),
      )
      .finally(() => this.#spoken(session.reach))
  }

  async #close(key: string, kept: Kept): Promise<void> {
    if (kept.users > 0) return
    this.#forget(key, kept)
    await this.#hangUp(kept.session)
  }

  async #hangUp(session: Session): Promise<void> {
    await session
      .close()
      .catch((thrown: unknown) => this.#context.log.debug({ err: thrown }, 'a session did not close well'))
  }

  /** None where the protocol gains nothing by several sessions. */
  #moreLines(
    plan: TransferPlan,
    attempt: number,
  ): { more: MoreLines | undefined; closed: () => Promise<unknown> } {
    const { id, protocol } = plan.contact
    const transport = this.#transports.get(protocol)
    const closing = new Set<Promise<void>>()
    const closed = () => Promise.all(closing)
    if (!transport?.sessionsAllowed) return { more: undefined, closed }
    const allowed = transport.sessionsAllowed(plan.settings[transport.sections.calling])
    const others = () => [...this.#opened.values()].filter(({ session }) => session.contactId === id).length
    const lineOver = (session: Session): ExtraLine => ({
      session,
      giveBack: (refused) => {
        if (refused) this.#extra.refused(id, others())
        const hungUp = this.#hangUp(session).finally(() => {
          this.#spoken(session.reach)
          closing.delete(hungUp)
        })
        closing.add(hungUp)
      },
    })
    const open = async () => {
      const limits = { allowed, others: others() }
      const session = await this.#extra.open(id, limits, () => this.#call(plan, attempt))
      return typeof session === 'string' ? session : lineOver(session)
    }
    const more: MoreLines = {
      wanted: (waiting) => linesWanted(allowed, waiting),
      open: () => {
        const opening = open()
        this.#extraCalls.add(opening)
        return opening.finally(() => this.#extraCalls.delete(opening))
      },
    }
    return { more, closed }
  }

  async #open(plan: TransferPlan, attempt: number): Promise<Session> {
    let session: Session
    try {
      session = await this.#call(plan, attempt)
    } catch (thrown) {
      // A partner that was not called, because this node has too much open, is not down.
      const isTheirs = thrown instanceof NodeError && thrown.retry && !tooManyOpen(thrown.cause)
      if (isTheirs) await callFailed(this.#context, plan.contact.id, toNodeError(thrown).message)
      throw thrown
    }
    await this.#noteAnswer(session)
    return session
  }

  /** The session is good, whether or not that can be written. */
  async #noteAnswer(session: Session): Promise<void> {
    const { contactId } = session
    try {
      await callSucceeded(this.#context, contactId)
      this.#unnoted.delete(session)
    } catch (thrown) {
      this.#unnoted.add(session)
      this.#context.log.warn(
        { err: thrown, contact: contactId },
        'that the partner answers could not be written; the next user of the session tries again',
      )
    }
  }

  async #call(plan: TransferPlan, attempt: number): Promise<Session> {
    const signal = this.#over.signal
    const transport = this.#transports.get(plan.contact.protocol)
    if (!transport)
      throw new NodeError('connect_failed', `this node has no transport for ${plan.contact.protocol}`)
    const reach = reachOfCall(this.#context.seal, plan, transport)
    const served = await channelsServed(this.#context, plan, reach)
    const applications = () => applicationsNow(this.#context, reach)
    let last: unknown
    for (const address of addressesOf(plan, transport, attempt)) {
      try {
        return await transport.connect(
          callOf(plan, transport, address, { signal, served, reach, applications }) as Call<never>,
          this.#hostOf(transport.protocol),
        )
      } catch (thrown) {
        last = thrown
        // Another address can help only if this one did not answer.
        if (!(thrown instanceof NodeError) || !thrown.retry || signal.aborted) break
      }
    }
    throw last ?? new NodeError('connect_failed', `contact ${plan.contact.id} has no address to call`)
  }

  async closeAll(): Promise<void> {
    const all = [
      ...[...this.#opened.values()].map((kept) => kept.session),
      ...this.#extra.all(),
      ...[...this.#called.values()].flatMap((some) => [...some]),
    ]
    for (const kept of this.#opened.values()) clearTimeout(kept.idle)
    this.#opened.clear()
    await Promise.allSettled(all.map((session) => session.close()))
    this.#over.abort(new NodeError('unavailable', 'the node is stopping'))
    await Promise.allSettled([...this.#opening.values(), ...this.#extraCalls])
  }
}

/** A session serves all channels that would have opened the same one. */
async function channelsServed(
  { store }: EngineContext,
  plan: TransferPlan,
  reach: Reach,
): Promise<ChannelRecord[]> {
  const channels = await channelsOfContact(store.db, plan.contact.id)
  return channels.filter(({ code }) => code !== plan.code).filter((channel) => !reach.refusal(channel))
}

/** Asked at every fetch: a session that is used all the time stays open for long. */
async function applicationsNow({ store }: EngineContext, reach: Reach): Promise<readonly string[]> {
  const channels = await channelsOfContact(store.db, reach.contactId)
  return [...new Set(channels.filter((channel) => !reach.refusal(channel)).map(applicationOf))]
}

type Calling = Pick<Call<unknown>, 'signal' | 'reach' | 'applications'> & { served: readonly ChannelRecord[] }

function callOf(
  plan: TransferPlan,
  { sections, capabilities }: Protocol,
  { host, port }: Address,
  { signal, served, reach, applications }: Calling,
): Call<unknown> {
  return {
    contactId: plan.contact.id,
    host,
    port,
    localId: plan.localId,
    remoteId: plan.remoteId,
    settings: plan.settings[sections.calling] ?? {},
    applications,
    reach,
    ways: 'B',
    timeouts: plan.timeouts,
    security: plan.security,
    compression: compressesLine([plan.channel, ...served.map(({ config }) => config)], capabilities),
    signal,
  }
}
