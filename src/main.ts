// Builds a node from its settings, starts it and drains it. The one place where the parts meet: everything they need
// of each other is handed over here.

import type { FastifyInstance } from 'fastify'
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { hostname } from 'node:os'
import { makeLimiter } from './accounts/limiter.ts'
import { hashPassword } from './accounts/password.ts'
import { makeTokens } from './accounts/token.ts'
import type { Config } from './config.ts'
import { authsOf } from './domain/user.ts'
import { zoneOf } from './domain/time.ts'
import { readSecrets } from './files/secrets.ts'
import type { Context } from './http/context.ts'
import { addPlatformRoutes } from './http/platform.ts'
import { buildServer } from './http/server.ts'
import { makeLog } from './log.ts'
import type { Log } from './log.ts'
import { hasAccounts, putAccount } from './store/accounts.ts'
import { makeDirectory } from './store/directory.ts'
import { openStore } from './store/open.ts'
import type { Store } from './store/open.ts'
import { makeSeal } from './store/seal.ts'

export type RunningNode = {
  url: string
  /** The administrator made at the first start of an empty platform, shown once. */
  firstAdmin: { username: string; password: string } | undefined
  context: Context
  stop(): Promise<void>
}

export async function startNode(config: Config): Promise<RunningNode> {
  const log = makeLog(config.logLevel, `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`)
  const secrets = readSecrets(config)
  for (const root of config.fileRoots) mkdirSync(root, { recursive: true })
  const store = await openStore(config)
  const firstAdmin = await makeFirstAdmin(store)
  const context: Context = {
    store,
    seal: makeSeal(secrets.masterKey),
    tokens: makeTokens(secrets.jwtSecret),
    limiter: makeLimiter(),
    directory: makeDirectory(),
    zone: zoneOf(config.timezone),
    roots: { fileRoots: config.fileRoots, scriptRoots: config.scriptRoots },
    maxPageSize: config.maxPageSize,
    now: Date.now,
    wake: () => {},
  }
  const app = buildServer(context, { log, tls: config.tls })
  const readiness = addPlatformRoutes(app, context)
  await app.listen({ host: config.host, port: config.port })
  readiness.ready = true
  const url = addressOf(app, config)
  log.info({ url }, 'ready')
  return { url, firstAdmin, context, stop: () => stop(app, store, log, readiness) }
}

async function stop(app: FastifyInstance, store: Store, log: Log, readiness: { ready: boolean }): Promise<void> {
  readiness.ready = false
  log.info('draining')
  await app.close()
  await store.close()
  log.info('stopped')
  log.flush()
}

function addressOf(app: FastifyInstance, config: Config): string {
  const address = app.server.address()
  const port = typeof address === 'object' && address ? address.port : config.port
  const host = config.host.includes(':') ? `[${config.host}]` : config.host
  return `${config.tls ? 'https' : 'http'}://${host}:${port}`
}

/** On a platform without any user; of several nodes starting together one makes it. */
async function makeFirstAdmin(store: Store): Promise<RunningNode['firstAdmin']> {
  if (await hasAccounts(store.db)) return undefined
  const password = randomBytes(15).toString('base64url')
  const passwordHash = await hashPassword(password)
  const username = 'admin'
  const made = await store.write(async (tx) => {
    if (await hasAccounts(tx)) return false
    await putAccount(tx, {
      username,
      email: 'admin@localhost',
      language: 'en',
      role: 'ROLE_GLOBALADMIN',
      auths: authsOf('ROLE_GLOBALADMIN'),
      disabled: false,
      passwordHash,
      credentialVersion: 1,
    })
    return true
  })
  return made ? { username, password } : undefined
}
