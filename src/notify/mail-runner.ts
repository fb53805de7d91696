// Tells one subscription by mail while this node holds it: at most one mail in five minutes, with all that has happened
// since the last. A mail gets its name before it is sent; if the node dies before it has noted that it was, the next one
// sends the same mail again, under the same name.

import { randomUUID } from 'node:crypto'
import type { Db } from '../store/database/store.ts'
import { dueDeliveries, setBatch } from '../store/events/deliveries.ts'
import type { DueDelivery } from '../store/events/deliveries.ts'
import { findSubscription, lockHeld, setMailAfter } from '../store/events/subscriptions.ts'
import type { SubscriptionRecord } from '../store/events/subscriptions.ts'
import { composeMail } from './mail/compose.ts'
import { writeTogether } from './outcomes.ts'
import type { Attempted } from './outcomes.ts'
import type { NotifyParts } from './parts.ts'

const MAIL_EVERY_MS = 5 * 60_000
/** In one mail; more follow in the next. */
const MOST = 1000
/** A stop waits no longer for the mail that is on its way. */
const STOP_MS = 5000

type NamedMail = { subscription: SubscriptionRecord; some: DueDelivery[]; batch: string }

export class MailRunner {
  readonly #parts: NotifyParts
  readonly #id: string
  readonly #publicUrl: string | undefined
  #heldUntil: number
  #sending: Promise<void> | undefined
  #stopped = false
  readonly #cut = new AbortController()

  constructor(
    parts: NotifyParts,
    { id, publicUrl, heldUntil }: { id: string; publicUrl: string | undefined; heldUntil: number },
  ) {
    this.#parts = parts
    this.#id = id
    this.#publicUrl = publicUrl
    this.#heldUntil = heldUntil
  }

  get heldUntil(): number {
    return this.#heldUntil
  }

  get idle(): boolean {
    return this.#sending === undefined
  }

  look(): Promise<void> {
    if (this.#sending || this.#stopped) return Promise.resolve()
    this.#sending = this.#sendNext().finally(() => (this.#sending = undefined))
    return this.#sending
  }

  async #sendNext(): Promise<void> {
    const { store, owner, now } = this.#parts
    // Looked at without a lock first: most looks find that it is not time yet.
    if ((await this.#next(store.db)).some.length === 0) return
    const named = await store.write(async (tx) => {
      if (!(await lockHeld(tx, this.#id, owner))) return undefined
      // Read again: another node may have mailed it since, if this one did nothing for a while.
      const { subscription, some } = await this.#next(tx)
      if (!subscription || some.length === 0) return undefined
      const batch = some[0]?.batch ?? randomUUID()
      await setBatch(
        tx,
        this.#id,
        some.map(({ position }) => position),
        batch,
      )
      if (!some.every(isTest)) await setMailAfter(tx, this.#id, now() + MAIL_EVERY_MS)
      return { subscription, some, batch }
    })
    // Past the hold another node may be sending it.
    if (named && now() < this.#heldUntil) await this.#send(named)
  }

  async #next(db: Db): Promise<{ subscription?: SubscriptionRecord; some: DueDelivery[] }> {
    const { now } = this.#parts
    const subscription = await findSubscription(db, this.#id)
    if (subscription?.state !== 'ON' || !subscription.settings.mail) return { some: [] }
    const due = await dueDeliveries(db, this.#id, { now: now(), limit: MOST })
    return { subscription, some: nextBatch(due, subscription.mailAfter, now()) }
  }

  async #send({ subscription, some, batch }: NamedMail): Promise<void> {
    const { store, owner, mailer, zone, now, log } = this.#parts
    const { to = [], language = 'en' } = subscription.settings.mail ?? {}
    const [at, began] = [now(), performance.now()]
    const letter = composeMail(
      some.map(({ event }) => event),
      { language, zone, publicUrl: this.#publicUrl, subscriptionId: this.#id },
    )
    const { ok, ...answer } = mailer
      ? await mailer.send({ to, ...letter, messageId: `<${batch}@esclusa>` }, this.#cut.signal)
      : { ok: false, error: 'no mail server is set: ESCLUSA_SMTP_URL and ESCLUSA_MAIL_FROM' }
    const attempt = { at, tookMs: Math.round(performance.now() - began), ...answer }
    const made = some.map((delivery): Attempted => ({
      delivery,
      verdict: ok ? 'delivered' : 'failed',
      attempt,
    }))
    if (!ok) log.warn({ subscription: this.#id, error: attempt.error }, 'a mail could not be sent')
    else if (attempt.error !== undefined)
      log.warn({ subscription: this.#id }, 'the mail server refused addresses: the deliveries name them')
    await store.write(async (tx) => {
      const written = await writeTogether(tx, { id: this.#id, owner }, made)
      // Nobody has got anything: the next may come as soon as it is due.
      if (!ok && written !== 'elsewhere') await setMailAfter(tx, this.#id, 0)
    })
  }

  /** Held anew. False: it is no longer told by mail. */
  refresh({ settings }: SubscriptionRecord, heldUntil: number): boolean {
    this.#heldUntil = heldUntil
    return settings.mail !== undefined
  }

  /** A mail that is cut off is sent again, as the same mail, by whoever holds the subscription next. */
  async stop(): Promise<void> {
    this.#stopped = true
    const late = setTimeout(
      () => this.#cut.abort(new Error('a mail was cut off: the node tells this subscription no longer')),
      STOP_MS,
    )
    await this.#sending?.catch(() => {})
    clearTimeout(late)
  }
}

function isTest({ event }: DueDelivery): boolean {
  return event.type === 'subscription.test'
}

/** One that may have gone already, as it was; else a test, at once; else, when it is time, all that is due. */
function nextBatch(due: readonly DueDelivery[], mailAfter: number, now: number): DueDelivery[] {
  const begun = due.find(({ batch }) => batch !== null)?.batch
  if (begun !== undefined) return due.filter(({ batch }) => batch === begun)
  const tests = due.filter(isTest)
  if (tests.length > 0) return tests
  // Further ahead than a mail is ever put, it was left by a clock that was ahead.
  return now >= mailAfter || mailAfter > now + MAIL_EVERY_MS ? [...due] : []
}
