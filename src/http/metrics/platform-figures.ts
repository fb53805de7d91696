// What the metrics tell of the platform: transfers, channels, partners, certificates and queues. All its nodes show the
// same numbers: take the maximum, not the sum. Channels and partners are named, up to a limit: what they are called is
// no secret to whoever may read metrics, but every name costs a few series.

import { Counter, Gauge } from 'prom-client'
import type { Registry } from 'prom-client'
import { DAY_MS } from '../../domain/time.ts'
import { TRANSFER_DIRECTIONS, TRANSFER_STATUSES } from '../../contract/transfer.ts'
import type { TransferDirection, TransferStatus } from '../../contract/transfer.ts'
import { statusOf } from '../../domain/channel.ts'
import { ACTIVE, isOver } from '../../domain/transfer.ts'
import { certificatesInUse } from '../../notify/key-expiry.ts'
import type { NotifyParts } from '../../notify/parts.ts'
import { makeCatalogue } from '../../store/catalogue.ts'
import type { ChannelFacts } from '../../store/catalogue.ts'
import { hoursOfChannel, readCalendars } from '../../store/expectations/calendars.ts'
import { partnersDown } from '../../store/overview.ts'
import { FAILURES_TO_BE_DOWN } from '../../store/partner-health.ts'
import { channelsInError } from '../../store/transfers/failures.ts'
import {
  bytesByChannel,
  countEndedByChannel,
  lastSuccesses,
  oldestDeliveries,
  oldestNewEvent,
  transfersWaiting,
} from '../../store/watching/figures.ts'
import type { Waiting } from '../../store/watching/figures.ts'
import type { Context } from '../context.ts'

/** An end gets its time a moment before its commit makes it visible. So only ends older than this are counted. */
const SETTLED_MS = 10_000
/** Days are left for long. */
const CERTIFICATES_EVERY_MS = 600_000

const CHANNEL = ['channel', 'partner'] as const

export type PlatformParts = {
  /** So many channels have figures of their own. */
  mostChannels: number
  /** Those that callers of this node are shown: the one thing here that is a node's own. */
  listeners: NotifyParts['listeners']
}

export function makePlatformFigures(
  registers: Registry[],
  context: Context,
  { mostChannels, listeners }: PlatformParts,
) {
  const gauge = <T extends string>(name: string, help: string, labelNames: readonly T[] = []) =>
    new Gauge<T>({ name: `esclusa_${name}`, help, labelNames, registers })
  const counter = <T extends string>(name: string, help: string, labelNames: readonly T[]) =>
    new Counter<T>({ name: `esclusa_${name}`, help, labelNames, registers })
  const underWay = gauge('transfers', 'Transfers of the platform that are not over.', ['direction', 'status'])
  const ended = counter(
    'transfers_ended_total',
    'Transfers of the platform that have ended since this node started.',
    ['direction', 'status'],
  )
  const status = gauge('channel_status', 'Always 1: the status that the channel has.', [...CHANNEL, 'status'])
  const left = gauge('channels_unlisted', 'Channels without figures of their own: past the limit.')
  const success = gauge('channel_last_success_timestamp_seconds', 'When a transfer last completed.', [
    ...CHANNEL,
    'direction',
  ])
  const waits = gauge('channel_oldest_waiting_seconds', 'How long the oldest pending transfer has waited.', [
    ...CHANNEL,
  ])
  const failures = counter(
    'channel_failures_total',
    'Transfers that failed since this node started, by code.',
    [...CHANNEL, 'code'],
  )
  const bytes = counter(
    'channel_bytes_total',
    'Octets of files of transfers that completed since this node started.',
    [...CHANNEL, 'direction'],
  )
  const up = gauge('partner_up', 'Whether the partner answers; 0: calls in a row have failed.', ['partner'])
  const days = gauge('certificate_days_left', 'Days until the certificate ends; negative: it has ended.', [
    ...CHANNEL,
    'use',
    'fingerprint',
  ])
  const due = gauge('queue_due', 'Pending transfers that are due.')
  const dueAge = gauge('queue_oldest_due_seconds', 'For how long the first of them has been due.')
  const leaseAge = gauge(
    'lease_overdue_seconds',
    'For how long the oldest lease of a running transfer has been over; 0: none is.',
  )
  const outboxAge = gauge('events_oldest_untaken_seconds', 'Age of the oldest event without its place.')
  const deliveryAge = gauge(
    'delivery_oldest_due_seconds',
    'How long a delivery has been due, or attempts have failed.',
    ['subscription'],
  )

  const catalogueOf = makeCatalogue()
  const lastAt = new Map<string, number>()
  let upTo: number | undefined
  const startedAt = context.now()
  let certificatesAt = -Infinity

  /** Channels with figures of their own: in the order of their codes, so that they stay the same ones. */
  async function shownChannels(): Promise<Map<string, ChannelFacts>> {
    const { channels } = await catalogueOf(context.store.db)
    const codes = [...channels.keys()].sort().slice(0, mostChannels)
    left.set(channels.size - codes.length)
    return new Map(codes.map((code) => [code, channels.get(code) as ChannelFacts])) // taken from its keys
  }

  const named = (facts: ChannelFacts) => ({ channel: facts.code, partner: facts.contactId })

  async function countEnds(shown: ReadonlyMap<string, ChannelFacts>, now: number): Promise<void> {
    const { db } = context.store
    if (upTo === undefined) {
      for (const direction of TRANSFER_DIRECTIONS)
        for (const state of TRANSFER_STATUSES.filter(isOver)) ended.inc({ direction, status: state }, 0)
      for (const { channelCode, emission, reception } of await lastSuccesses(db)) {
        if (emission !== null) lastAt.set(`EMISION ${channelCode}`, emission)
        if (reception !== null) lastAt.set(`RECEPCION ${channelCode}`, reception)
      }
      upTo = startedAt
    }
    const before = now - SETTLED_MS
    // The clock was set back: what ends from now on counts all the same.
    if (before < upTo - SETTLED_MS) upTo = before
    if (before <= upTo) return
    for (const one of await countEndedByChannel(db, upTo, before)) {
      const facts = shown.get(one.channelCode)
      ended.inc({ direction: one.direction, status: one.state }, one.count)
      if (one.state === 'COMPLETED') lastAt.set(`${one.direction} ${one.channelCode}`, one.lastAt)
      if (one.state === 'FAILED' && facts)
        failures.inc({ ...named(facts), code: one.code ?? 'internal' }, one.count)
    }
    for (const one of await bytesByChannel(db, upTo, before)) {
      const facts = shown.get(one.channelCode)
      if (facts) bytes.inc({ ...named(facts), direction: one.direction }, one.bytes)
    }
    upTo = before
  }

  async function showChannels(
    shown: ReadonlyMap<string, ChannelFacts>,
    waiting: readonly Waiting[],
    now: number,
  ): Promise<void> {
    const { db } = context.store
    await readCalendars(db)
    const failed = new Set(await channelsInError(db))
    const active = Map.groupBy(waiting, ({ channelCode }) => channelCode)
    for (const one of [status, success, waits]) one.reset()
    for (const facts of shown.values()) {
      const own = active.get(facts.code) ?? []
      const activity = { active: own.map(({ state }) => state), failed: failed.has(facts.code) }
      const at = { now, zone: context.zone, hours: hoursOfChannel(facts) }
      status.set({ ...named(facts), status: statusOf(facts.config, activity, at) }, 1)
      const pending = own.filter(({ state }) => state === 'PENDING').map(({ requestedAt }) => requestedAt)
      if (pending.length > 0) waits.set(named(facts), secondsSince(Math.min(...pending), now))
      for (const direction of TRANSFER_DIRECTIONS) {
        const last = lastAt.get(`${direction} ${facts.code}`)
        if (last !== undefined) success.set({ ...named(facts), direction }, last / 1000)
      }
    }
    const down = new Set((await partnersDown(db, FAILURES_TO_BE_DOWN)).map(({ contactId }) => contactId))
    up.reset()
    for (const partner of partnersOf(shown)) up.set({ partner }, down.has(partner) ? 0 : 1)
  }

  function showQueues(waiting: readonly Waiting[], now: number): void {
    for (const direction of TRANSFER_DIRECTIONS)
      for (const state of ACTIVE)
        underWay.set({ direction, status: state }, countOf(waiting, direction, state))
    const late = waiting.filter(({ state, dueAt }) => state === 'PENDING' && dueAt <= now)
    due.set(late.length)
    dueAge.set(late.length === 0 ? 0 : secondsSince(Math.min(...late.map(({ dueAt }) => dueAt)), now))
    const leases = waiting.flatMap(({ state, leaseUntil }) =>
      state === 'IN_PROGRESS' && leaseUntil !== null ? [leaseUntil] : [],
    )
    leaseAge.set(leases.length === 0 ? 0 : secondsSince(Math.min(...leases), now))
  }

  async function showEvents(now: number): Promise<void> {
    const { db } = context.store
    outboxAge.set(secondsSince((await oldestNewEvent(db)) ?? now, now))
    deliveryAge.reset()
    for (const { subscription, waitsSince } of await oldestDeliveries(db))
      deliveryAge.set({ subscription }, secondsSince(waitsSince ?? now, now))
  }

  async function showCertificates(shown: ReadonlyMap<string, ChannelFacts>, now: number): Promise<void> {
    if (Math.abs(now - certificatesAt) < CERTIFICATES_EVERY_MS) return
    certificatesAt = now
    days.reset()
    const partners = partnersOf(shown)
    const { store, seal } = context
    for await (const one of certificatesInUse({ store, seal, listeners })) {
      const { use, channelCode = '', contactId = '', fingerprint, endsAt } = one
      const isOwn = channelCode === '' && contactId === ''
      if (!isOwn && !(channelCode === '' ? partners.has(contactId) : shown.has(channelCode))) continue
      const labels = { channel: channelCode, partner: contactId, use, fingerprint: fingerprint.slice(0, 16) }
      days.set(labels, Math.floor((endsAt - now) / DAY_MS))
    }
  }

  return async () => {
    const now = context.now()
    const shown = await shownChannels()
    const waiting = await transfersWaiting(context.store.db)
    await countEnds(shown, now)
    await showChannels(shown, waiting, now)
    showQueues(waiting, now)
    await showEvents(now)
    await showCertificates(shown, now)
  }
}

function partnersOf(shown: ReadonlyMap<string, ChannelFacts>): Set<string> {
  return new Set([...shown.values()].map(({ contactId }) => contactId))
}

function secondsSince(at: number, now: number): number {
  return Math.max(0, (now - at) / 1000)
}

function countOf(waiting: readonly Waiting[], direction: TransferDirection, state: TransferStatus): number {
  return waiting.filter((one) => one.direction === direction && one.state === state).length
}
