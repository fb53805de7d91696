// The notifier: takes events, sees to it that whoever subscribed is told, and decides expectations. It runs on the HTTP
// side of every node, so that the engine's thread is left alone; what each node does is settled in the database: events
// are taken under one lock, a subscription is delivered by the node that holds its lease.
//
// It works when nudged (something happened on this node) and by its clock. Nothing depends on being nudged.

import type { Config } from '../config.ts'
import { LONGEST_PAUSE_MS } from '../domain/delivery-schedule.ts'
import { networksOf } from '../domain/network/networks.ts'
import { SetBack } from '../domain/set-back.ts'
import type { Reading } from '../domain/set-back.ts'
import { zoneOf } from '../domain/time.ts'
import type { Log } from '../log.ts'
import { databaseNow } from '../store/database/clock.ts'
import type { Store } from '../store/database/store.ts'
import { releaseWaiting, subscriptionsDue } from '../store/events/deliveries.ts'
import {
  findSubscription,
  holdSubscriptions,
  listSubscriptions,
  releaseSubscriptions,
} from '../store/events/subscriptions.ts'
import type { Seal } from '../store/seal.ts'
import { undoDaysAhead, watchExpectations } from './expectations/watch.ts'
import { makeMailer } from './mail/mailer.ts'
import { MailRunner } from './mail-runner.ts'
import type { NotifyParts } from './parts.ts'
import { takeEvents } from './take-events.ts'
import { makeTracer } from './traces/tracer.ts'
import type { Tracer } from './traces/tracer.ts'
import { makeUpkeep } from './upkeep.ts'
import type { Upkeep } from './upkeep.ts'
import { makePoster } from './webhook.ts'
import { WebhookRunner } from './webhook-runner.ts'

/** At most ten takings a second, however much happens. */
const TAKE_EVERY_MS = 100
const LOOK_MS = 1000

export type NotifierOptions = {
  config: Pick<
    Config,
    | 'otlpEndpoint'
    | 'webhookNetworks'
    | 'smtpUrl'
    | 'mailFrom'
    | 'publicUrl'
    | 'timezone'
    | 'leaseSeconds'
    | 'keepEventsDays'
  >
  store: Store
  seal: Seal
  log: Log
  owner: string
  version: string
  /** How long an endpoint has to answer, where it is not the usual time. */
  postMs?: number
  /** How long a mail may take, where it is not the usual time. */
  mailMs?: number
  /** The certificates that callers of this node are shown. */
  listeners?: NotifyParts['listeners']
  /** Told after events got their place. */
  taken?: () => void
}

type Runner = WebhookRunner | MailRunner

export class Notifier {
  readonly #parts: NotifyParts
  readonly #options: NotifierOptions
  readonly #runners = new Map<string, Runner>()
  /** Stopped, and not done yet: until then nothing else tells the subscription here. */
  readonly #leaving = new Map<string, Promise<void>>()
  #clockOffset = 0
  #timer: NodeJS.Timeout | undefined
  #nudged = false
  #working: Promise<void> | undefined
  /** By the clock that nobody can set. */
  #lastTake = -Infinity
  #nextWatch = -Infinity
  readonly #setBack = new SetBack()
  readonly #upkeep: Upkeep
  readonly #tracer: Tracer | undefined
  #stopped = false

  constructor(options: NotifierOptions) {
    const { config, store, seal, log, owner, version } = options
    const { smtpUrl, mailFrom } = config
    this.#options = options
    this.#parts = {
      store,
      seal,
      log,
      owner,
      zone: zoneOf(config.timezone),
      leaseMs: config.leaseSeconds * 1000,
      now: () => Date.now() + this.#clockOffset,
      listeners: options.listeners ?? (() => Promise.resolve([])),
      poster: makePoster(networksOf(config.webhookNetworks), `Esclusa/${version}`, {
        limitMs: options.postMs,
      }),
      mailer: smtpUrl && mailFrom ? makeMailer(smtpUrl, mailFrom, options.mailMs) : undefined,
    }
    this.#tracer = makeTracer(config.otlpEndpoint, store.db, log)
    this.#upkeep = makeUpkeep(this.#parts, config.keepEventsDays)
  }

  start(): void {
    this.#schedule(0)
  }

  /** Something happened: it is taken within a tenth of a second. */
  nudge(): void {
    if (this.#nudged || this.#stopped) return
    this.#nudged = true
    if (!this.#working) this.#schedule(Math.max(0, this.#lastTake + TAKE_EVERY_MS - performance.now()))
  }

  #schedule(ms: number): void {
    clearTimeout(this.#timer)
    if (!this.#stopped) this.#timer = setTimeout(() => void this.#turn(), ms)
  }

  async #turn(): Promise<void> {
    if (this.#working) return
    this.#nudged = false
    this.#lastTake = performance.now()
    this.#working = this.#work()
      .catch((thrown: unknown) => this.#parts.log.warn({ err: thrown }, 'the notifier could not do its work'))
      .finally(() => {
        this.#working = undefined
        this.#schedule(
          this.#nudged ? Math.max(0, this.#lastTake + TAKE_EVERY_MS - performance.now()) : LOOK_MS,
        )
      })
    await this.#working
  }

  async #work(): Promise<void> {
    const { store, zone, now } = this.#parts
    const before = performance.now()
    const read = await databaseNow(store.db, store.dialect)
    this.#clockOffset = read - Date.now()
    await this.#endWaits({ now: read, before, after: performance.now() })
    await this.#take()
    // What has come is counted before the clock decides; what the clock decided is told at once.
    if (performance.now() >= this.#nextWatch) {
      this.#nextWatch = performance.now() + LOOK_MS
      if (await watchExpectations(store, zone, now())) await this.#take()
    }
    await this.#upkeep.look(now())
    await this.#deliver()
  }

  /** After a clock was set back nobody waits for longer. */
  #endWaits(reading: Reading): Promise<void> {
    const { store } = this.#parts
    const { now } = reading
    return this.#setBack.look(reading, async (back) => {
      await undoDaysAhead(store, now)
      const waiting = await listSubscriptions(store.db)
      if (waiting.length === 0) return
      const after = back === undefined ? now + LONGEST_PAUSE_MS : now
      await store.write(async (tx) => {
        for (const { id } of waiting) await releaseWaiting(tx, id, { after, now })
      })
    })
  }

  async #take(): Promise<void> {
    const { store, zone, now } = this.#parts
    if ((await takeEvents(store, zone, now(), this.#tracer?.taken)) > 0) this.#options.taken?.()
  }

  /** Takes hold of what is due, keeps hold of what is under way, and lets the rest go. */
  async #deliver(): Promise<void> {
    const { store, owner, leaseMs, now } = this.#parts
    const due = await subscriptionsDue(store.db, now())
    for (const [id, runner] of this.#runners) if (runner.idle && !due.includes(id)) this.#runners.delete(id)
    const wanted = [...new Set([...due, ...this.#runners.keys()])].filter((id) => !this.#leaving.has(id))
    const lapsing = wanted.filter((id) => (this.#runners.get(id)?.heldUntil ?? 0) < now() + leaseMs / 2)
    if (lapsing.length > 0) {
      const until = now() + leaseMs
      const held = new Set(
        await store.write((tx) => holdSubscriptions(tx, lapsing, { owner, now: now(), until })),
      )
      for (const id of lapsing) await this.#hold(id, held.has(id) ? until : undefined)
    }
    for (const runner of this.#runners.values())
      runner
        .look()
        .catch((thrown: unknown) =>
          this.#parts.log.warn({ err: thrown }, 'deliveries could not be looked for'),
        )
  }

  /** undefined: it is another's, or off. */
  async #hold(id: string, until: number | undefined): Promise<void> {
    const known = this.#runners.get(id)
    if (until === undefined) return this.#letGo(id)
    const subscription = await findSubscription(this.#parts.store.db, id)
    if (known && subscription && known.refresh(subscription, until)) return
    // What it has told and not noted yet must not be told again: the next one begins after it.
    if (known) return this.#letGo(id)
    if (!subscription) return
    const runner = subscription.settings.mail
      ? new MailRunner(this.#parts, { id, publicUrl: this.#options.config.publicUrl, heldUntil: until })
      : new WebhookRunner(this.#parts, subscription, until)
    this.#runners.set(id, runner)
  }

  /** Nobody waits for it: other subscriptions are told meanwhile. */
  #letGo(id: string): void {
    const runner = this.#runners.get(id)
    if (!runner) return
    this.#runners.delete(id)
    const left = runner.stop().finally(() => {
      this.#leaving.delete(id)
      this.nudge()
    })
    this.#leaving.set(id, left)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    await this.#working
    for (const id of this.#runners.keys()) this.#letGo(id)
    await Promise.all(this.#leaving.values())
    const { store, zone, owner, poster, mailer } = this.#parts
    await takeEvents(store, zone, this.#parts.now(), this.#tracer?.taken).catch(() => {})
    await this.#tracer?.stop()
    await store.write((tx) => releaseSubscriptions(tx, owner)).catch(() => {})
    poster.close()
    mailer?.close()
  }
}
