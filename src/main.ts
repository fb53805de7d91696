// Builds a node from its settings, starts it and drains it. Only here do the parts meet: each gets from here what it
// needs of the others.

import type { FastifyInstance } from 'fastify'
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { makeFirstAdministrator } from './accounts/first-run.ts'
import type { FirstAdministrator } from './accounts/first-run.ts'
import { makeLimiter } from './accounts/limiter.ts'
import { makeTokens } from './accounts/token.ts'
import { startSealer } from './audit/sealer.ts'
import type { Sealer } from './audit/sealer.ts'
import { BY_ITSELF, makeAuditTrail } from './audit/trail.ts'
import type { AuditTrail } from './audit/trail.ts'
import { warnOfOtherSettings } from './compare-settings.ts'
import type { Config } from './config.ts'
import { networksOf } from './domain/network/networks.ts'
import { zoneOf } from './domain/time.ts'
import { NO_LAG } from './event-loop-lag.ts'
import { NOTHING_COUNTED } from './engine/counters.ts'
import { startEngineThread } from './engine/engine-thread.ts'
import type { EngineThread } from './engine/engine-thread.ts'
import { messageOf, NodeError } from './errors.ts'
import { keptFirstSecrets } from './files/first-secrets.ts'
import { refuseHalfRestored } from './files/half-restored.ts'
import { readListenerCertificates } from './files/listener-certificates.ts'
import { makeFolders, requireApart } from './files/root-overlap.ts'
import { missingSecrets, readSecrets, requireMasterKey } from './files/secrets.ts'
import type { NodeSecrets } from './files/secrets.ts'
import type { Context } from './http/context.ts'
import { EventHub } from './http/platform/events.ts'
import { makeMetrics } from './http/metrics/route.ts'
import { addPlatformRoutes } from './http/health-and-console.ts'
import { buildServer } from './http/server.ts'
import { uploadSettings } from './http/upload-settings.ts'
import { makeNoteUse } from './http/note-use.ts'
import { makeLog } from './log.ts'
import { connectNodes } from './node-messages.ts'
import { Notifier } from './notify/notifier.ts'
import type { Nodes } from './node-messages.ts'
import type { Log } from './log.ts'
import { VERSION } from './root.ts'
import { shownSettings } from './shown-settings.ts'
import { makeChannelAccess } from './store/channel-access.ts'
import { noteSessionSeen } from './store/sessions.ts'
import { noteTokenUse } from './store/tokens.ts'
import { MOST_SKEW_MS, clockSkew } from './store/database/clock.ts'
import { nodeDeadlines, openStore } from './store/database/open.ts'
import type { Store } from './store/database/store.ts'
import { timedWrites } from './store/watching/timed-writes.ts'
import { mendErrors } from './store/transfers/failures.ts'
import { tellNode } from './store/events/node-life.ts'
import { makeSeal } from './store/seal.ts'
import { requireKeyOf, usesMasterKey } from './store/sealed-values.ts'
import { fillAllNameKeys } from './store/transfers/file-names.ts'

export type RunningNode = {
  url: string
  /** The administrator made at the first start of an empty platform, shown once. */
  firstAdmin: FirstAdministrator | undefined
  context: Context
  stop(): Promise<void>
}

type StartOptions = {
  /** The engine's thread from another file than usual, for tests. */
  worker?: URL
}

export async function startNode(config: Config, options: StartOptions = {}): Promise<RunningNode> {
  const owner = `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`
  const log = makeLog(config.logLevel, owner)
  requireApart(config)
  refuseHalfRestored(config.dataDir)
  // Whatever a node makes, in any folder, is for its own user only.
  process.umask(0o077)
  makeFolders(config)
  const metrics = makeMetrics()
  const store = timedWrites(await openStore({ ...config, deadlines: nodeDeadlines(config) }), metrics.wrote)
  const opened: Opened = { store, log, owner }
  try {
    return await start(config, opened, { ...options, metrics })
  } catch (thrown) {
    // Whatever stayed open would keep the process alive, as a node that does nothing.
    await stop(opened)
    throw thrown
  }
}

/** What there is of a node, whole or half started. */
type Opened = {
  store: Store
  log: Log
  owner: string
  /** There once the trail says that the node was started. */
  audit?: AuditTrail
  sealer?: Sealer
  app?: FastifyInstance
  events?: EventHub
  wakes?: Nodes
  notifier?: Notifier
  engine?: EngineThread
  readiness?: { ready: boolean }
}

type Prepared = StartOptions & { metrics: ReturnType<typeof makeMetrics> }

async function start(config: Config, opened: Opened, { worker, metrics }: Prepared): Promise<RunningNode> {
  const { store, log, owner } = opened
  const secrets = await secretsFor(config, opened)
  const skewMs = await clockSkew(store)
  if (skewMs >= MOST_SKEW_MS)
    log.warn({ skewMs }, 'this clock is off the database’s: synchronise them, nodes share leases and hours')
  // Where several nodes share a database, one that was just replaced may have been of the version before.
  if (store.dialect.rowLocks) await mendErrors(store)
  const ending = new AbortController()
  const context: Context = {
    store,
    seal: makeSeal(secrets.master),
    tokens: makeTokens(secrets.jwt),
    limiter: makeLimiter(store),
    tokenUsed: makeNoteUse(store, noteTokenUse),
    sessionSeen: makeNoteUse(store, noteSessionSeen),
    audit: makeAuditTrail(secrets.master, owner, Date.now),
    channelAccess: makeChannelAccess(),
    // Loaded at first need.
    generateKey: async (wanted) =>
      (await import('./engine/transforms/cms/self-signed.ts')).generateSelfSigned(wanted),
    testContact: async (contact) => {
      const { testContact } = await import('./engine/probing/test-contact.ts')
      const { db } = store
      const { seal } = context
      return testContact(
        { db, seal, places: config, sshPacketMemory: config.sshPacketMemory, signal: ending.signal },
        contact,
      )
    },
    zone: zoneOf(config.timezone),
    roots: {
      fileRoots: config.fileRoots,
      scriptRoots: config.scriptRoots,
      dataDir: config.dataDir,
      leastRsaBits: config.leastRsaBits,
    },
    maxPageSize: config.maxPageSize,
    uploads: uploadSettings(config),
    dataDir: config.dataDir,
    now: Date.now,
    wake: (what) => wakes.wake(what),
  }
  await noteStart(context, config)
  opened.audit = context.audit
  const firstAdmin = await makeFirstAdministrator(store, {
    kept: keptFirstSecrets(config.dataDir),
    note: (tx) => context.audit.add(tx, BY_ITSELF, [FIRST_ADMINISTRATOR]),
  })
  opened.sealer = startSealer({
    store,
    trail: context.audit,
    log,
    dataDir: config.dataDir,
    keepDays: config.keepAuditDays,
    now: Date.now,
  })
  const events = (opened.events = new EventHub())
  const { tls, trustedProxies } = config
  const app = (opened.app = buildServer(context, { log, tls, trustedProxies }))
  const readiness = (opened.readiness = addPlatformRoutes(app, context, events))
  const access = { token: config.metricsToken, networks: networksOf(config.metricsNetworks) }
  const idle = { ...NOTHING_COUNTED, lag: NO_LAG }
  const listeners = () => readListenerCertificates(config)
  metrics.addRoute(app, context, {
    hub: events,
    engine: () => opened.engine?.figures() ?? idle,
    access,
    mostChannels: config.metricsChannels,
    listeners,
  })
  const wakes = (opened.wakes = await connectNodes({
    store,
    log,
    owner,
    // Others may speak before the engine is up; it looks for work by itself when it starts.
    tellEngine: (message) => opened.engine?.tell(message),
    tellNotifier: () => notifier.nudge(),
    events,
  }))
  const notifier = (opened.notifier = new Notifier({
    config,
    store,
    seal: context.seal,
    log,
    owner,
    version: VERSION,
    listeners,
    taken: wakes.stored,
  }))
  await listen(app, config)
  const { heard, wanted } = wakes
  const engine = startEngineThread({ config, owner, log, heard, wanted, ...(worker && { worker }) })
  opened.engine = engine
  readiness.engineAnswers = () => engine.answers()
  // With listeners, the start waits for the engine: partners may be calling. Without any, requests are served meanwhile.
  const listens = [config.oftp2Port, config.oftp2TlsPort, config.sftpPort].some((port) => port !== undefined)
  const started = engine.ready.catch(() => {})
  if (listens) await engine.ready
  await store.write((tx) => tellNode(tx, { type: 'node.started', node: owner, now: Date.now() }))
  const filling = new AbortController()
  const filled = fillAllNameKeys(store, filling.signal).catch((thrown: unknown) =>
    log.warn({ err: thrown }, 'file names could not be made ready for searches'),
  )
  // Once the engine is up: of nodes that start at about the same time, a later one sees the ones before.
  const compared = started
    .then(() => warnOfOtherSettings(opened, config))
    .catch((thrown: unknown) => log.warn({ err: thrown }, 'settings of other nodes could not be read'))
  notifier.start()
  readiness.ready = true
  const url = addressOf(app, config)
  log.info({ url }, 'ready')
  let stopping: Promise<void> | undefined
  return {
    url,
    firstAdmin,
    context,
    stop: () =>
      (stopping ??= started.then(async () => {
        filling.abort()
        ending.abort()
        await filled
        await compared
        await stop(opened)
      })),
  }
}

async function secretsFor(config: Config, { store, log }: Opened): Promise<NodeSecrets> {
  const missing = missingSecrets(config)
  if ((missing.master || missing.jwt) && (await usesMasterKey(store))) {
    requireMasterKey(config)
    log.warn('jwt-secret is missing in the data folder: a new one is made, and all tokens and logins end')
  }
  const secrets = readSecrets(config)
  await requireKeyOf(store.db, makeSeal(secrets.master))
  return secrets
}

/** A port that is taken or an address that is not this machine's is a wrong setting. */
async function listen(app: FastifyInstance, { host, port }: Config): Promise<void> {
  try {
    await app.listen({ host, port })
  } catch (thrown) {
    if (!(thrown instanceof Error && 'syscall' in thrown)) throw thrown
    throw new NodeError(
      'bad_use',
      `cannot listen on ${host}:${port} (ESCLUSA_HOST, ESCLUSA_PORT): ${messageOf(thrown)}`,
      { cause: thrown },
    )
  }
}

/** How long requests get to end, once everything else has ended. */
const REQUEST_GRACE_MS = 2000

/** First takes no new work, then lets running transfers reach a restart point, then closes the listeners. */
async function stop(opened: Opened): Promise<void> {
  const { store, log, owner, audit, sealer, app, events, wakes, notifier, engine, readiness } = opened
  if (readiness) readiness.ready = false
  log.info('draining')
  await engine?.stop()
  await wakes?.close()
  events?.close()
  // For the server, a connection without any request yet is not idle: it would wait until that one times out.
  const cut = setTimeout(() => app?.server.closeAllConnections(), REQUEST_GRACE_MS)
  await app?.close()
  clearTimeout(cut)
  if (audit)
    await store
      .write(async (tx) => {
        await audit.add(tx, BY_ITSELF, [{ action: 'NODE_STOPPED' }])
        await tellNode(tx, { type: 'node.stopped', node: owner, now: Date.now() })
      })
      // A full disk must not keep a node from ending.
      .catch((thrown: unknown) => log.warn({ err: thrown }, 'the stop could not be noted'))
  await notifier?.stop()
  await sealer?.stop()
  await store.close()
  log.info('stopped')
  log.flush()
}

const FIRST_ADMINISTRATOR = {
  action: 'USER_CREATED',
  subject: { kind: 'user', name: 'admin' },
  note: 'the first administrator',
} as const

/** The settings as they count, so that the trail shows under which ones everything after it was done. */
async function noteStart({ store, audit }: Context, config: Config): Promise<void> {
  const settings = shownSettings(config, audit.keys.fingerprint)
  await store.write((tx) =>
    audit.add(tx, BY_ITSELF, [{ action: 'NODE_STARTED', facts: { version: VERSION, settings } }]),
  )
}

function addressOf(app: FastifyInstance, config: Config): string {
  const address = app.server.address()
  const port = typeof address === 'object' && address ? address.port : config.port
  const host = config.host.includes(':') ? `[${config.host}]` : config.host
  return `${config.tls ? 'https' : 'http'}://${host}:${port}`
}
