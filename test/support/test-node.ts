// A whole node in this process, or its HTTP door alone, as harness.ts hands them out. A file of its own because it
// loads the whole product, which tests of the store need not wait for.

import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import { makeLimiter } from '../../src/accounts/limiter.ts'
import { makeTokens } from '../../src/accounts/token.ts'
import { makeAuditTrail } from '../../src/audit/trail.ts'
import { readConfig } from '../../src/config.ts'
import type { Config } from '../../src/config.ts'
import { zoneOf } from '../../src/domain/time.ts'
import { testContact } from '../../src/engine/probing/test-contact.ts'
import { generateSelfSigned } from '../../src/engine/transforms/cms/self-signed.ts'
import { readSecrets } from '../../src/files/secrets.ts'
import type { Context } from '../../src/http/context.ts'
import { makeNoteUse } from '../../src/http/note-use.ts'
import { buildServer } from '../../src/http/server.ts'
import { uploadSettings } from '../../src/http/upload-settings.ts'
import { makeLog } from '../../src/log.ts'
import { startNode } from '../../src/main.ts'
import type { RunningNode } from '../../src/main.ts'
import { makeChannelAccess } from '../../src/store/channel-access.ts'
import { openStore } from '../../src/store/database/open.ts'
import { makeSeal } from '../../src/store/seal.ts'
import { noteSessionSeen } from '../../src/store/sessions.ts'
import { noteTokenUse } from '../../src/store/tokens.ts'
import { caller } from './call.ts'
import { closeAfter, JOINED_WORKER, sqlite, tempFolder } from './harness.ts'
import type { HttpOptions, NodeOptions, TestNode } from './harness.ts'
import { putListenerKeys } from './rsa-key.ts'
import { seedPlatform, tokenFor } from './seed.ts'

async function configFor(t: TestContext, options: NodeOptions, state?: 'started'): Promise<Config> {
  const { database = sqlite, settings } = options
  const dataDir = settings?.ESCLUSA_DATA_DIR ?? (await tempFolder(t))
  // A folder that is given may hold a database already.
  const databaseUrl = await (settings?.ESCLUSA_DATA_DIR
    ? database.createEmpty(t)
    : database.create(t, dataDir, state))
  return readConfig({
    ESCLUSA_DATA_DIR: dataDir,
    ESCLUSA_PORT: '0',
    ESCLUSA_LOG_LEVEL: 'silent',
    ESCLUSA_DRAIN_SECONDS: '0',
    ...(databaseUrl && { ESCLUSA_DATABASE_URL: databaseUrl }),
    ...settings,
  })
}

async function dressed(
  url: string,
  context: Context,
  config: Config,
  options: NodeOptions,
): Promise<TestNode> {
  const { dataDir, databaseUrl } = config
  const files = config.fileRoots[0] ?? join(dataDir, 'files')
  if (!options.empty) await seedPlatform(context, files)
  const token = (username: string) => tokenFor(context, username)
  return { url, context, store: context.store, dataDir, databaseUrl, files, token, call: caller(url, token) }
}

export async function startWholeNode(t: TestContext, options: NodeOptions): Promise<TestNode & RunningNode> {
  const config = await configFor(t, options, options.empty ? undefined : 'started')
  await putListenerKeys(config.dataDir, options.settings ?? {})
  const node = await startNode(config, JOINED_WORKER ? { worker: pathToFileURL(JOINED_WORKER) } : {})
  closeAfter(t, () => node.stop())
  return { ...node, ...(await dressed(node.url, node.context, config, options)) }
}

export async function startHttpDoor(t: TestContext, options: HttpOptions): Promise<TestNode> {
  const config = await configFor(t, options)
  const { jwtSecret, masterKey } = readSecrets(config)
  const store = await openStore(config)
  closeAfter(t, () => store.close())
  const context: Context = {
    store,
    seal: makeSeal(masterKey),
    tokens: makeTokens(jwtSecret),
    limiter: makeLimiter(store),
    tokenUsed: makeNoteUse(store, noteTokenUse),
    sessionSeen: makeNoteUse(store, noteSessionSeen),
    audit: makeAuditTrail(masterKey, 'test', () => context.now()),
    channelAccess: makeChannelAccess(),
    generateKey: generateSelfSigned,
    testContact: (contact) => {
      const {
        store: { db },
        seal,
      } = context
      return testContact(
        { db, seal, places: config, sshPacketMemory: true, signal: new AbortController().signal },
        contact,
      )
    },
    zone: zoneOf(config.timezone),
    roots: config,
    maxPageSize: config.maxPageSize,
    uploads: uploadSettings(config),
    dataDir: config.dataDir,
    now: Date.now,
    wake: () => {},
  }
  const app = buildServer(context, { log: options.log ?? makeLog(config.logLevel, 'test') })
  closeAfter(t, () => app.close())
  return dressed(await app.listen({ host: '127.0.0.1', port: 0 }), context, config, options)
}
