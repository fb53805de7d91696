// `esclusa doctor`: checks this set-up as a node would use it, and says what is wrong and what to do. It changes
// nothing, except for a test file that it removes again. Exit 1 if anything is wrong; warnings do not count.

import { randomUUID, X509Certificate } from 'node:crypto'
import { accessSync, constants, existsSync, readFileSync, statSync, statfsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { TEST_ADVICE } from '../../contract/administration/connection-test.ts'
import { readConfig } from '../../config.ts'
import type { Config } from '../../config.ts'
import { partnerMustCall } from '../../domain/channel.ts'
import { channelFaults } from '../../domain/channel-faults.ts'
import type { Roots } from '../../domain/channel-rules.ts'
import { rootsOf } from '../../domain/file-roots.ts'
import { messageOf, NodeError } from '../../errors.ts'
import { listenerCertificates } from '../../files/listener-certificates.ts'
import { masterKeyMissing, missingSecrets, readMasterKey } from '../../files/secrets.ts'
import { noFolders, overlaps, requireRights } from '../../files/root-overlap.ts'
import { partnerFolderFault } from '../../files/partner-folders.ts'
import type { NodePlaces } from '../../files/partner-folders.ts'
import { confined, diskFaults } from '../../files/roots.ts'
import { pairInOne, readPair } from '../../files/tls-pair.ts'
import { ownCertificate } from '../../keys/key-facts.ts'
import { listChannels, openChannel } from '../../store/channels.ts'
import type { ChannelRecord } from '../../store/channels.ts'
import { listContacts, listLocalEntities, openProtocolSections } from '../../store/contacts.ts'
import { appliedNames } from '../../store/database/migrate.ts'
import { connectTo, openStore } from '../../store/database/open.ts'
import type { Store } from '../../store/database/store.ts'
import { MOST_SKEW_MS, clockSkew, databaseNow } from '../../store/database/clock.ts'
import { ping } from '../../store/database/probe.ts'
import { makeSeal } from '../../store/seal.ts'
import type { Seal } from '../../store/seal.ts'
import { usesMasterKey } from '../../store/sealed-values.ts'
import { say } from '../print.ts'
import { hasNode } from './data-folder.ts'

type Verdict = 'ok' | 'warning' | 'wrong'
type Finding = { verdict: Verdict; about: string; says: string }

const MARKS: Record<Verdict, string> = { ok: 'ok     ', warning: 'warning', wrong: 'WRONG  ' }
const REACH_MS = 3000
const LOW_SPACE = 1024 ** 3
const EXPIRES_SOON_MS = 30 * 86_400_000

export async function doctor(options: { json?: boolean; partners?: boolean }): Promise<void> {
  const findings = await examine(options.partners === true)
  if (options.json) say(JSON.stringify(findings, undefined, 2))
  else for (const { verdict, about, says } of findings) say(`${MARKS[verdict]}  ${about}: ${says}`)
  if (findings.some(({ verdict }) => verdict === 'wrong')) process.exitCode = 1
}

async function examine(calls: boolean): Promise<Finding[]> {
  let config: Config
  try {
    config = readConfig(process.env)
  } catch (thrown) {
    return [wrong('settings', messageOf(thrown))]
  }
  const findings = [
    ok('settings', 'readable'),
    nodeVersion(),
    ...(await folders(config)),
    ...apart(config),
    ...(await ports(config)),
    ...certificatesShown(config),
  ]
  findings.push(...(await sshLibrary(config)))
  try {
    if (!(await hasDatabase(config))) {
      const where = config.databaseUrl === undefined ? ` in ${config.dataDir}` : ''
      findings.push(warning('database', `there is none${where} yet: esclusa serve makes it`))
      return findings
    }
    const store = await openStore(config)
    try {
      findings.push(...(await database(config, store, calls)))
    } finally {
      await store.close()
    }
  } catch (thrown) {
    findings.push(wrong('database', messageOf(thrown)))
  }
  return findings
}

/** PostgreSQL is asked: there it may be that only the key is missing. It is left as it is. */
async function hasDatabase(config: Config): Promise<boolean> {
  if (hasNode(config)) return true
  if (config.databaseUrl === undefined) return false
  const store = await connectTo(config)
  try {
    await databaseNow(store.db, store.dialect)
    return await appliedNames(store.db).then(
      () => true,
      () => false,
    )
  } finally {
    await store.close()
  }
}

function ok(about: string, says: string): Finding {
  return { verdict: 'ok', about, says }
}
function warning(about: string, says: string): Finding {
  return { verdict: 'warning', about, says }
}
function wrong(about: string, says: string): Finding {
  return { verdict: 'wrong', about, says }
}

function nodeVersion(): Finding {
  const major = Number(process.versions.node.split('.')[0])
  return major >= 24
    ? ok('Node', process.version)
    : wrong('Node', `${process.version}: 24 or later is needed`)
}

async function sshLibrary(config: Config): Promise<Finding[]> {
  const { loadSsh } = await import('../../engine/transports/ssh/library.ts')
  const { nativeBinding } = await import('../../engine/transports/ssh/native-binding.ts')
  const { notes } = loadSsh({ packetMemory: config.sshPacketMemory })
  const { loaded, advice } = nativeBinding()
  const key = await hostKey(config)
  if (!loaded) return [warning('SSH', advice), ...key]
  return [ok('SSH', 'native crypto is loaded'), ...notes.map((note) => warning('SSH', note)), ...key]
}

/** What partners pin who call by SFTP. */
async function hostKey({ sftpPort, dataDir }: Config): Promise<Finding[]> {
  if (sftpPort === undefined) return []
  const { keptHostKey } = await import('../../engine/transports/sftp-server/host-key.ts')
  try {
    return keptHostKey(dataDir) === undefined ? [] : [ok('SFTP host key', 'readable')]
  } catch (thrown) {
    return [wrong('SFTP host key', messageOf(thrown))]
  }
}

async function folders(config: Config): Promise<Finding[]> {
  const findings = [await writable('data folder', config.dataDir, 'ESCLUSA_DATA_DIR')]
  for (const root of config.fileRoots) findings.push(await writable('file root', root, 'ESCLUSA_FILE_ROOTS'))
  if (config.archiveDir !== undefined)
    findings.push(await writable('archive', config.archiveDir, 'ESCLUSA_ARCHIVE_DIR'))
  for (const root of config.scriptRoots)
    findings.push(existsSync(root) ? ok('script root', root) : wrong('script root', `${root} does not exist`))
  return findings
}

/** What keeps a node from starting, and the keys of its listeners where a channel could send them. */
function apart(config: Config): Finding[] {
  const keys = { ESCLUSA_TLS_KEY: config.tls?.keyPath, ESCLUSA_OFTP2_TLS_KEY: config.oftp2Tls?.keyPath }
  const sendable = Object.entries(keys).filter(
    ([, path]) => path !== undefined && confined(path, config.fileRoots) !== undefined,
  )
  return [
    ...[...noFolders(config), ...overlaps(config)].map((says) => wrong('folders', says)),
    ...sendable.map(([name, path]) => wrong('folders', `${name} (${path}) lies inside a file root: move it`)),
  ]
}

async function writable(about: string, path: string, setting?: string): Promise<Finding> {
  try {
    if (statSync(path, { throwIfNoEntry: false }) === undefined) {
      if (setting !== undefined) requireRights(setting, path)
      return warning(about, `${path} does not exist yet; the node makes it at its next start`)
    }
    const probe = join(path, `.esclusa-doctor-${randomUUID()}`)
    await writeFile(probe, 'probe', { flag: 'wx' })
    await rm(probe)
  } catch (thrown) {
    return wrong(about, `${path} cannot be written: ${messageOf(thrown)}`)
  }
  const space = statfsSync(path)
  const free = space.bavail * space.bsize
  if (free < LOW_SPACE) return warning(about, `${path}: only ${Math.round(free / 1024 ** 2)} MiB are free`)
  if (about === 'data folder' && (statSync(path).mode & 0o007) !== 0)
    return warning(about, `${path} is open to other users: chmod 700 it, it holds keys`)
  return ok(about, `${path}, ${Math.round(free / 1024 ** 3)} GiB free`)
}

async function ports(config: Config): Promise<Finding[]> {
  const wanted: [string, string, number | undefined][] = [
    ['HTTP', config.host, config.port],
    ['OFTP2', config.listenHost, config.oftp2Port],
    ['OFTP2 over TLS', config.listenHost, config.oftp2TlsPort],
    ['SFTP', config.listenHost, config.sftpPort],
  ]
  const findings: Finding[] = []
  for (const [name, host, port] of wanted) if (port) findings.push(await portFinding(name, host, port))
  return findings
}

/** A port in use is fine if this node is the one that uses it. */
function portFinding(name: string, host: string, port: number): Promise<Finding> {
  return new Promise((done) => {
    const server = createServer()
    server.once('error', (error) =>
      done(warning(`port ${port}`, `${name} on ${host}: ${messageOf(error)} (fine if the node is running)`)),
    )
    server.listen(port, host, () =>
      server.close(() => done(ok(`port ${port}`, `free for ${name} on ${host}`))),
    )
  })
}

/** What callers are shown. */
function certificatesShown(config: Config): Finding[] {
  return listenerCertificates(config).flatMap(({ use, path, keyPath }) => {
    try {
      const { cert } =
        keyPath === undefined
          ? pairInOne(path, readFileSync(path, 'utf8'))
          : readPair({ certPath: path, keyPath }, (why) => new NodeError('bad_use', `${use} ${why}`))
      const ending = certificateFindings(path, [cert])
      return ending.length > 0 ? ending : [ok('certificate', path)]
    } catch (thrown) {
      return [wrong('certificate', messageOf(thrown))]
    }
  })
}

async function database(config: Config, store: Store, calls: boolean): Promise<Finding[]> {
  const began = Date.now()
  await ping(store.db)
  const name = store.dialect.name === 'sqlite' ? `SQLite in ${config.dataDir}` : 'PostgreSQL'
  const findings = [ok('database', `${name} answers (${Date.now() - began} ms)`), await clock(store)]
  findings.push(...(await missingKeys(config, store)))
  const channels = await listChannels(store.db)
  findings.push(ok('channels', `${channels.length} in the database`))
  if (missingSecrets(config).master) return findings
  const seal = makeSeal(readMasterKey(config))
  const entities = new Map((await listLocalEntities(store.db)).map((entity) => [entity.code, entity]))
  for (const channel of channels)
    findings.push(...channelFindings(rootsOf(config, entities.get(channel.localCode)), seal, channel))
  findings.push(
    ...(calls ? await calledPartners(config, store, seal) : await partners(store, seal, channels, config)),
  )
  return findings
}

/** A node makes them at its first start, and never again. */
async function missingKeys(config: Config, store: Store): Promise<Finding[]> {
  const missing = missingSecrets(config)
  if (!(missing.master || missing.jwt) || !(await usesMasterKey(store))) return []
  return [
    ...(missing.master ? [wrong('keys', masterKeyMissing(config.dataDir))] : []),
    ...(missing.jwt
      ? [
          wrong(
            'keys',
            `jwt-secret is missing in ${config.dataDir}: with a new one all tokens and logins end`,
          ),
        ]
      : []),
  ]
}

/** Several nodes must agree on the time: leases and hours depend on it. */
async function clock(store: Store): Promise<Finding> {
  // SQLite has no clock of its own.
  if (store.dialect.name === 'sqlite') return ok('clock', new Date().toISOString())
  const skew = await clockSkew(store)
  return skew < MOST_SKEW_MS
    ? ok('clock', `${skew} ms off the database’s`)
    : wrong('clock', `${skew} ms off the database’s: synchronise them`)
}

function channelFindings(roots: Roots, seal: Seal, record: ChannelRecord): Finding[] {
  const about = `channel ${record.code}`
  try {
    const channel = openChannel(seal, record)
    const faults = [...channelFaults(channel, roots), ...diskFaults(channel, roots)]
    return [
      ...faults.map(({ pointer, message }) => wrong(about, `${pointer} ${message}`)),
      ...directoryFindings(about, channel.directories ?? []),
      ...certificateFindings(about, [channel.security?.rsaLocalKey, channel.security?.rsaRemoteKey]),
    ]
  } catch (thrown) {
    return [wrong(about, messageOf(thrown))]
  }
}

function directoryFindings(
  about: string,
  directories: readonly { filePath?: string; direction?: string }[],
): Finding[] {
  return directories.flatMap(({ filePath, direction }) => {
    if (filePath === undefined || /[*?[\]{}]/.test(filePath)) return []
    if (!existsSync(filePath))
      return direction === 'EMISION' ? [warning(about, `${filePath} does not exist yet`)] : []
    try {
      accessSync(filePath, direction === 'EMISION' ? constants.R_OK : constants.R_OK | constants.W_OK)
      return []
    } catch (thrown) {
      return [wrong(about, messageOf(thrown))]
    }
  })
}

function certificateFindings(about: string, pems: readonly (string | undefined)[]): Finding[] {
  return pems.flatMap((pem) => {
    const start = pem?.indexOf('-----BEGIN CERTIFICATE-----') ?? -1
    if (pem === undefined || start < 0) return []
    const { validFromDate, validToDate, subject } = new X509Certificate(
      ownCertificate(pem) ?? pem.slice(start),
    )
    const left = validToDate.getTime() - Date.now()
    const day = (date: Date) => date.toISOString().slice(0, 10)
    if (left < 0) return [wrong(about, `the certificate ${subject} expired on ${day(validToDate)}`)]
    if (validFromDate.getTime() > Date.now())
      return [wrong(about, `the certificate ${subject} is not valid before ${day(validFromDate)}`)]
    return left < EXPIRES_SOON_MS
      ? [warning(about, `the certificate ${subject} expires on ${day(validToDate)}`)]
      : []
  })
}

/** What calls to all partners would meet, step by step. */
async function calledPartners(config: Config, store: Store, seal: Seal): Promise<Finding[]> {
  const { testContact } = await import('../../engine/probing/test-contact.ts')
  const { signal } = new AbortController()
  const testing = { db: store.db, seal, places: config, sshPacketMemory: config.sshPacketMemory, signal }
  const findings: Finding[] = []
  for (const contact of await listContacts(store.db))
    for (const { address = '', steps } of (await testContact(testing, contact)).ways)
      for (const { step, outcome, seen, advice } of steps) {
        const about = `partner ${contact.id} ${address} ${step}`
        const says = [seen, advice && TEST_ADVICE[advice]].filter(Boolean).join('; ')
        findings.push({ verdict: VERDICTS[outcome], about, says })
      }
  return findings
}

const VERDICTS = { OK: 'ok', FAILED: 'wrong', SKIPPED: 'warning' } as const

/** One TCP connection to each address that a channel may call. */
async function partners(
  store: Store,
  seal: Seal,
  channels: readonly ChannelRecord[],
  places: NodePlaces,
): Promise<Finding[]> {
  const contacts = await listContacts(store.db)
  const looks = contacts.flatMap((contact) => {
    const called = channels.filter(
      ({ contactId, config }) => contactId === contact.id && !partnerMustCall(config, contact.protocol),
    )
    if (called.length === 0) return []
    if (contact.protocol === 'folder') {
      const { folder } = openProtocolSections(seal, contact) as {
        folder?: { inbox?: string; outbox?: string }
      }
      return [folder?.inbox, folder?.outbox].flatMap((path) =>
        path === undefined ? [] : [folderFinding(contact.id, path, places)],
      )
    }
    const addresses = (contact.data.remoteIPs ?? []).flatMap(({ ipAddress, port }) =>
      ipAddress && port ? [{ ipAddress, port }] : [],
    )
    return addresses.map(({ ipAddress, port }) => reach(contact.id, ipAddress, port))
  })
  return Promise.all(looks)
}

async function folderFinding(contact: string, path: string, places: NodePlaces): Promise<Finding> {
  const fault = partnerFolderFault(path, places)
  if (fault !== undefined) return wrong(`partner ${contact}`, `${path} ${fault}`)
  return existsSync(path)
    ? writable(`partner ${contact}`, path)
    : wrong(`partner ${contact}`, `${path} does not exist`)
}

function reach(contact: string, host: string, port: number): Promise<Finding> {
  const about = `partner ${contact}`
  return new Promise((done) => {
    const socket = connect({ host, port, timeout: REACH_MS })
    const end = (finding: Finding) => {
      socket.destroy()
      done(finding)
    }
    socket.once('connect', () => end(ok(about, `${host}:${port} answers`)))
    socket.once('timeout', () =>
      end(wrong(about, `${host}:${port} does not answer within ${REACH_MS / 1000} s`)),
    )
    socket.once('error', (error) => end(wrong(about, `${host}:${port}: ${messageOf(error)}`)))
  })
}
