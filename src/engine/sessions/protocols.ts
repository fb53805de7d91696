// The protocols a node speaks: the transports it calls with, and the listeners at which partners call.

import type { Config } from '../../config.ts'
import type { SftpSettings } from '../../contract/contact-settings.ts'
import { networksOf } from '../../domain/network/networks.ts'
import { NodeError } from '../../errors.ts'
import { madeCertificatePath } from '../../files/listener-certificates.ts'
import { halfFilesOf, receivedSince } from '../../store/transfers/receptions.ts'
import { outboxOf, reachedCode } from '../sending/outbox-spool.ts'
import { makeSessionCrypto } from './session-crypto.ts'
import { createFolder } from '../transports/folder/folder.ts'
import type { Oftp2Transport } from '../transports/oftp2/oftp2.ts'
import { SFTP } from '../transports/ssh/sftp-protocol.ts'
import { NAME_ALONE } from '../transports/transport.ts'
import type { Listener, SessionHost, Transport } from '../transports/transport.ts'
import type { EngineContext } from '../engine-context.ts'

export type Protocols = {
  transports: ReadonlyMap<string, Transport<never>>
  listen(hostOf: (protocol: string) => SessionHost, wake: () => void): Promise<Listener[]>
}

export async function openProtocols(config: Config, context: EngineContext): Promise<Protocols> {
  const { createOftp2 } = await import('../transports/oftp2/oftp2.ts')
  // Loaded at the first call or by the listener: it is a fifth of the engine's start, and many nodes have no SFTP.
  let opened: Promise<void> | undefined
  const ssh = () => (opened ??= openSsh(config, context))
  let calling: Promise<Transport<SftpSettings>> | undefined
  const sftp: Transport<SftpSettings> = {
    ...SFTP,
    connect: async (call, host) => (await (calling ??= ssh().then(sftpCalls))).connect(call, host),
  }
  const oftp2 = createOftp2({ crypto: makeSessionCrypto(context.policy) })
  const all = [createFolder(config), oftp2, sftp] as Transport<never>[]
  return {
    transports: new Map(all.map((transport) => [transport.protocol, transport])),
    listen: async (hostOf, wake) => [
      ...(await listenForOftp2(config, context, hostOf('oftp2'), oftp2)),
      ...(await listenForSftp(config, context, hostOf('sftp'), { wake, ssh })),
    ],
  }
}

async function sftpCalls(): Promise<Transport<SftpSettings>> {
  return (await import('../transports/sftp-client/sftp-client.ts')).sftpClientTransport()
}

/** Before anybody else loads the SSH library: the settings decide how. */
async function openSsh(config: Config, context: EngineContext): Promise<void> {
  const { loadSsh } = await import('../transports/ssh/library.ts')
  const { nativeBinding } = await import('../transports/ssh/native-binding.ts')
  const { notes } = loadSsh({ packetMemory: config.sshPacketMemory })
  const binding = nativeBinding()
  if (!binding.loaded) context.log.warn(binding.advice)
  else for (const note of notes) context.log.warn(note)
}

async function listenForOftp2(
  config: Config,
  context: EngineContext,
  host: SessionHost,
  oftp2: Oftp2Transport,
): Promise<Listener[]> {
  const { listenerCertificate, listenOftp2 } = await import('../transports/oftp2/oftp2.ts')
  const parts = {
    host: config.listenHost,
    sessionHost: host,
    crypto: makeSessionCrypto(context.policy),
    pool: oftp2.pool,
    ...proxiesOf(config),
    onNote: (note: string) => context.log.warn(note),
    limits: { handshakeMs: config.signInSeconds * 1000, callersPerAddress: config.callersPerAddress },
  }
  const listeners: Listener[] = []
  if (config.oftp2Port !== undefined)
    listeners.push(await named('ESCLUSA_OFTP2_PORT', listenOftp2({ ...parts, port: config.oftp2Port })))
  if (config.oftp2TlsPort !== undefined) {
    const tls = await listenerCertificate({
      own: config.oftp2Tls,
      http: config.tls,
      keptPath: madeCertificatePath(config.dataDir),
      make: ownCertificate,
      warn: (message) => context.log.warn(message),
    })
    const listener = listenOftp2({ ...parts, port: config.oftp2TlsPort, tls })
    listeners.push(await named('ESCLUSA_OFTP2_TLS_PORT', listener))
  }
  return listeners
}

/** Who may say in whose name it calls. */
function proxiesOf({ proxyProtocolFrom }: Config) {
  return proxyProtocolFrom.length === 0 ? {} : { proxies: networksOf(proxyProtocolFrom) }
}

async function ownCertificate(): Promise<string> {
  const { generateSelfSigned } = await import('../transforms/cms/self-signed.ts')
  const { privateKeyPem, certificatePem } = await generateSelfSigned({ commonName: 'esclusa', days: 3650 })
  return `${privateKeyPem.trim()}\n${certificatePem.trim()}\n`
}

async function listenForSftp(
  config: Config,
  context: EngineContext,
  host: SessionHost,
  { wake, ssh }: { wake: () => void; ssh: () => Promise<void> },
): Promise<Listener[]> {
  if (config.sftpPort === undefined) return []
  await ssh()
  const { listenSftp } = await import('../transports/sftp-server/listen.ts')
  const { hostKeyIn } = await import('../transports/sftp-server/host-key.ts')
  const listener = listenSftp({
    host: config.listenHost,
    port: config.sftpPort,
    ...proxiesOf(config),
    hostKeys: [hostKeyIn(config.dataDir)],
    sessionHost: host,
    outboxOf: (reach) => outboxOf(context, reach, wake),
    channelOf: (reach, application) => reachedCode(context, reach, application),
    keptUploads: (channel) => halfFilesOf(context.store.db, channel, NAME_ALONE),
    takenSince: (channel, name, since) => receivedSince(context.store.db, channel, name, since),
    limits: { loginMs: config.signInSeconds * 1000, callersPerAddress: config.callersPerAddress },
    socketMemory: config.sshSocketMemory,
    onNote: (note) => context.log.warn(note),
    onFault: (error) => context.log.debug({ err: error }, 'an SFTP connection broke'),
  })
  return [await named('ESCLUSA_SFTP_PORT', listener)]
}

/** The transports know no settings, and whoever started the node has to change one. */
async function named(setting: string, listener: Promise<Listener>): Promise<Listener> {
  try {
    return await listener
  } catch (thrown) {
    if (!(thrown instanceof NodeError) || thrown.code !== 'bad_use') throw thrown
    throw new NodeError('bad_use', `${thrown.message} (ESCLUSA_LISTEN_HOST, ${setting})`, { cause: thrown })
  }
}
