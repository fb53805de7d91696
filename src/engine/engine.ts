// Puts the engine together: dispatcher, sessions, receptions and automation. It meets the HTTP side only in the database.
// `wake` just saves it from waiting for its clock.

import { mkdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { makeKnownAddresses } from '../accounts/known-addresses.ts'
import { NOTHING_COUNTED } from './counters.ts'
import type { Counters } from './counters.ts'
import { makeLimiter } from '../accounts/limiter.ts'
import type { Config } from '../config.ts'
import { zoneOf } from '../domain/time.ts'
import { isOver } from '../domain/transfer.ts'
import { NodeError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Store } from '../store/database/store.ts'
import { readCalendars } from '../store/expectations/calendars.ts'
import type { Seal } from '../store/seal.ts'
import { startAutomation } from './scheduling/automation.ts'
import { clearEnded } from './scheduling/clear-ended.ts'
import { makeSessionHost } from './sessions/session-host.ts'
import { FinishingReceptions } from './receiving/finishing-receptions.ts'
import { Dispatcher } from './scheduling/dispatcher.ts'
import { openProtocols } from './sessions/protocols.ts'
import type { Publish } from './events.ts'
import { Heartbeat } from './scheduling/heartbeat.ts'
import { endFutureLeases } from '../store/transfers/signs-of-life.ts'
import { clearLeftovers, clearStrays, sweepStrays } from './staging/leftovers.ts'
import { OfferMemory } from './receiving/offer-memory.ts'
import { Receptions } from './receiving/receptions.ts'
import { WriteTogether } from './receiving/small/write-together.ts'
import { runTransfer } from './scheduling/run-transfer.ts'
import type { Runner } from './scheduling/run-transfer.ts'
import { OwedReceipts } from './sessions/owed-receipts.ts'
import { receiptsDelivered } from '../store/transfers/receipts.ts'
import { receiptsToSend } from './sessions/receipts.ts'
import { SessionPool } from './sessions/session-pool.ts'
import { makeSlots } from './scheduling/slots.ts'
import { Quotas } from './staging/quotas.ts'
import { makeStaging } from './staging/staging.ts'
import type { SessionHost } from './transports/transport.ts'
import type { EngineContext } from './engine-context.ts'

/** As settings and the platform file count. */
const MEGABYTE = 1024 * 1024

export type EngineParts = {
  config: Config
  store: Store
  seal: Seal
  log: Log
  owner: string
  publish: Publish
  /** A file waits here for a channel whose reception another node may have. */
  askNodes: (channelCode: string) => void
}

export type Engine = {
  wake(): void
  cancel(transferId: string): void
  /** A file waits on another node for a reception that this one may have. */
  letGo(channelCode: string): void
  /** A reception of the channel is over on another node. */
  freed(channelCode: string): void
  counters: Counters
  stop(): Promise<void>
}

export async function startEngine(parts: EngineParts): Promise<Engine> {
  const { config } = parts
  const stopping = new AbortController()
  const counters: Counters = { ...NOTHING_COUNTED }
  const publish: Publish = (event) => {
    parts.publish(event)
    if (event.kind === 'state' && event.direction === 'RECEPCION' && isOver(event.status))
      receptions.freed(event.channelCode)
  }
  const context = makeContext({ ...parts, publish }, stopping.signal, counters)
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 })
  const protocols = await openProtocols(config, context)
  const { transports } = protocols
  const hosts = new Map<string, SessionHost>()
  const hostOf = (protocol: string) => {
    const host = hosts.get(protocol)
    if (!host) throw new Error(`no host for ${protocol}`)
    return host
  }
  const finishing = new FinishingReceptions()
  const background = (contactId: string, running: Promise<void>) => {
    finishing.add(contactId, running)
    dispatcher.background(running)
  }
  const receptions: Receptions = new Receptions({
    context,
    hold: (held) => dispatcher.hold(held),
    release: (held) => dispatcher.release(held),
    background,
    askNodes: parts.askNodes,
  })
  const sessions = new SessionPool(context, transports, hostOf, (reach) => receptions.sessionDone(reach))
  const owed = new OwedReceipts(
    (reach, isFree) => receiptsToSend(context, reach, isFree),
    (ids) => context.store.write((tx) => receiptsDelivered(tx, ids, context.now())),
  )
  const memory = new OfferMemory()
  const quotas = new Quotas(context)
  const together = new WriteTogether(context)
  const protocolOf = (protocol: string) => transports.get(protocol)
  const runner: Runner = { context, sessions, protocolOf, receptions }
  const dispatcher = new Dispatcher(context, config.workers, {
    run: (claim, signal, given) => runTransfer(runner, claim, signal, given),
    clear: (transferId) => clearEnded(runner, transports, transferId),
  })
  for (const protocol of transports.values()) {
    const { capabilities } = protocol
    const reception = { context, capabilities, memory, quotas, receptions, together, background }
    hosts.set(
      protocol.protocol,
      makeSessionHost({
        context,
        launcher: dispatcher,
        sessions,
        owed,
        reception,
        finishing,
        protocol,
      }),
    )
  }
  const { leaseMs, now } = context
  await context.store.write((tx) => endFutureLeases(tx, now(), leaseMs))
  await clearStrays(context)
  // Before anybody is let in: a channel may be closed today.
  await readCalendars(context.store.db)
  await context.knownAddresses.refresh()
  const listeners = await protocols.listen(hostOf, () => dispatcher.wake())
  dispatcher.start()
  dispatcher.background(clearLeftovers(context, transports))
  const refreshing = setInterval(() => dispatcher.background(context.knownAddresses.refresh()), 60_000)
  const sweeping = setInterval(() => dispatcher.background(sweepStrays(context)), 600_000)
  const automation = startAutomation(runner, owed, () => dispatcher.wake())
  return {
    wake: () => dispatcher.wake(),
    cancel: (transferId) => dispatcher.cancel(transferId),
    letGo: (channelCode) => receptions.letGo(channelCode),
    freed: (channelCode) => receptions.freed(channelCode),
    counters,
    stop: async () => {
      stopping.abort(new NodeError('unavailable', 'the node is stopping'))
      clearInterval(refreshing)
      clearInterval(sweeping)
      await automation.stop()
      receptions.closeAll()
      // Listeners first: nobody new comes in. Whoever is on the line may finish during the drain.
      const closing = Promise.all(listeners.map((listener) => listener.close()))
      await dispatcher.drain(config.drainSeconds * 1000)
      await sessions.closeAll()
      await closing
      await receptions.ended()
    },
  }
}

function makeContext(
  { config, store, seal, log, owner, publish }: EngineParts,
  stopping: AbortSignal,
  counters: Counters,
): EngineContext {
  const leaseMs = config.leaseSeconds * 1000
  return {
    owner,
    store,
    seal,
    log,
    zone: zoneOf(config.timezone),
    roots: { fileRoots: config.fileRoots, scriptRoots: config.scriptRoots },
    codePage: config.codePage,
    policy: config,
    staging: makeStaging(resolve(config.dataDir)),
    slots: makeSlots(config.workers),
    leaseMs,
    heartbeat: new Heartbeat({ store, owner, leaseMs, now: Date.now }),
    scriptMs: config.scriptSeconds * 1000,
    limits: {
      maxOpenedOctets: config.maxOpenedMegabytes * MEGABYTE,
      diskReserveOctets: config.diskReserveMegabytes * MEGABYTE,
      contactOctets: config.contactQuotaMegabytes * MEGABYTE,
      contactFiles: config.contactQuotaFiles,
    },
    now: Date.now,
    limiter: makeLimiter(store),
    knownAddresses: makeKnownAddresses(store, Date.now),
    stopping,
    publish,
    quotaMet: () => counters.quotaRefusals++,
    counted: (direction, octets) => {
      if (direction === 'EMISION') counters.emitted += octets
      else counters.received += octets
    },
  }
}
