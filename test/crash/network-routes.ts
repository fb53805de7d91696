// Routes over real lines: the node under test calls its own listeners, so that whatever kills it cuts both ends of a
// transfer in the same moment. Of several nodes each calls whichever of them answers first. One channel sends what lies in `out`; the other one, of another entity or with another
// contact, puts it into `in`.
//
//   oftp2            pushed over OFTP2, acknowledged by a receipt
//   oftp2 protected  the same with files that are signed, compressed and encrypted, and a signed receipt
//   sftp             pushed over SFTP into the node's own listener
//   sftp verified    the same, read back and compared before it gets its name (validationHashFiles)
//   picked up        laid out, and fetched over SFTP by the other channel; complete when it was taken (downloadConf)
//   handed over      the same without downloadConf: the original goes as soon as the file lies there
//   to sshd          pushed over SFTP to an OpenSSH server
//   from sshd        fetched from one

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import ssh2 from 'ssh2'
import type { PlatformChannel, PlatformContact } from '../../src/contract/administration/platform-file.ts'
import type { SftpSettings } from '../../src/contract/contact-settings.ts'
import { fingerprintOf, readPrivateKey } from '../../src/engine/transports/ssh/keys.ts'
import { ensureFolder } from '../../src/files/place.ts'
import { freePort } from '../support/free-port.ts'
import { noOpenSsh } from '../support/sftp/openssh.ts'
import type { OpenSsh } from '../support/sftp/openssh.ts'
import type { Settings } from './node-process.ts'
import type { Keys, Route } from './routes.ts'

export const NETWORK_KINDS = [
  'oftp2',
  'oftp2 protected',
  'sftp',
  'sftp verified',
  'picked up',
  'handed over',
  ...(noOpenSsh ? [] : (['to sshd', 'from sshd'] as const)),
] as const
export type NetworkKind = (typeof NETWORK_KINDS)[number]

/** Where the nodes are called, each at an address of its own, and how they prove themselves to each other. */
export type Network = {
  settings: Settings[]
  addresses: string[]
  oftp2Port: number
  sftpPort: number
  hostKeys: string[]
  key: { private: string; public: string }
  /** Of protected files. */
  keys: Keys
  /** What the channels know of the OpenSSH server, and the port at which it is called. */
  sshd: { port: number; sftp: Pick<SftpSettings, 'username' | 'privateKey' | 'hostKeys'> } | undefined
}

/** The port that is called instead of the node's own. */
export type Between = (port: number) => Promise<number>

export async function makeNetwork(
  dataDir: string,
  nodes: number,
  keys: Keys,
  sshd: OpenSsh | undefined,
  between: Between = (port) => Promise.resolve(port),
): Promise<Network> {
  const [oftp2Port, sftpPort] = [await freePort(), await freePort()]
  const addresses = Array.from({ length: nodes }, (_, nth) => `127.0.0.${nth + 1}`)
  const host = keyPair().private
  await ensureFolder(dataDir)
  await writeFile(join(dataDir, 'sftp-host-key.pem'), host, { mode: 0o600 })
  return {
    settings: addresses.map((address) => ({
      ESCLUSA_LISTEN_HOST: address,
      ESCLUSA_OFTP2_PORT: String(oftp2Port),
      ESCLUSA_SFTP_PORT: String(sftpPort),
    })),
    addresses,
    oftp2Port: await between(oftp2Port),
    sftpPort: await between(sftpPort),
    keys,
    sshd: sshd && {
      port: await between(sshd.port),
      sftp: {
        username: sshd.username,
        privateKey: sshd.userKey.private,
        hostKeys: [sshd.hostKey.fingerprint, sshd.rsaHostKey.fingerprint],
      },
    },
    hostKeys: [fingerprintOf(readPrivateKey(host, undefined).getPublicSSH())],
    key: keyPair(),
  }
}

/** Not Ed25519: one in 256 that ssh2 makes cannot be read, as a zero at its beginning is lost. */
function keyPair(): { private: string; public: string } {
  return ssh2.utils.generateKeyPairSync('ecdsa', { bits: 256 })
}

const LOCAL = 'BANCO'
const APPLICATION = 'FILES'

export function makeNetworkRoute(kind: NetworkKind, number: number, root: string, network: Network): Route {
  const at = (name: string) => join(root, String(number), name)
  if (kind === 'to sshd' || kind === 'from sshd') return sshdRoute(kind, number, at, network)
  const { entities, sender, receiver } = endsOf(kind, number, network)
  const both = protectionOf(kind, network.keys)
  const deletes = kind === 'handed over'
  const [here = LOCAL] = entities
  const sends = `${here}-OUT${number}-${APPLICATION}`
  return {
    kind,
    source: at('out'),
    end: at('in'),
    watched: [at('in')],
    original: deletes ? 'gone' : { folder: at('done') },
    sends,
    receives: receiver.code,
    folders: ['out', 'in', 'done'].map(at),
    entities,
    contacts: [sender.contact, receiver.contact],
    channels: [
      {
        code: sends,
        contact: sender.contact.id,
        direction: 'EMISION',
        directories: [{ direction: 'EMISION', filePath: at('out'), fileFormat: 'BINARIO' }],
        allowSendDuplicateFiles: false,
        automation: { watch: true },
        validationHashFiles: kind === 'sftp verified',
        connection: sender.connection,
        ...both,
        integrations: deletes
          ? { postEmisionAction: 'EMISION_DELETE' }
          : { postEmisionAction: 'EMISION_MOVE', postEmisionDirectory: at('done') },
      },
      {
        code: receiver.code,
        contact: receiver.contact.id,
        direction: 'RECEPCION',
        directories: [{ direction: 'RECEPCION', filePath: at('in'), fileFormat: 'BINARIO' }],
        connection: receiver.connection,
        ...both,
        ...(receiver.calls && { automation: { watch: true } }),
      },
    ],
  }
}

/** No kill may use up the attempts. And restart points are close together: more of them are hit. */
const RETRIES = 99
const REGISTERS = 256

function sshdRoute(
  kind: 'to sshd' | 'from sshd',
  number: number,
  at: (name: string) => string,
  { sshd }: Network,
): Route {
  if (!sshd) throw new Error('there is no OpenSSH server')
  const sends = kind === 'to sshd'
  const id = `SSHD${number}`
  const code = `${LOCAL}-${id}-${APPLICATION}`
  const connection: Connection = {
    ips: ['127.0.0.1'],
    advancedConfigurationConnection: { retries: RETRIES },
    advancedConfigurationTransmission: { registersBlock: REGISTERS },
  }
  return {
    kind,
    source: at('out'),
    end: at('in'),
    watched: [at('in')],
    original: sends ? { folder: at('done') } : 'gone',
    sends: sends ? code : undefined,
    receives: sends ? undefined : code,
    folders: ['out', 'in', 'done', 'unused'].map(at),
    entities: [],
    contacts: [
      {
        id,
        remoteCodes: [{ code: id }],
        remoteIPs: [{ id: 'sshd', ipAddress: '127.0.0.1', port: sshd.port }],
        protocol: 'sftp',
        sftp: { ...sshd.sftp, inbox: at(sends ? 'in' : 'unused'), outbox: at(sends ? 'unused' : 'out') },
      },
    ],
    channels: [
      {
        code,
        contact: id,
        direction: sends ? 'EMISION' : 'RECEPCION',
        directories: [
          {
            direction: sends ? 'EMISION' : 'RECEPCION',
            filePath: at(sends ? 'out' : 'in'),
            fileFormat: 'BINARIO',
          },
        ],
        allowSendDuplicateFiles: false,
        automation: { watch: true },
        connection,
        ...(sends && {
          integrations: { postEmisionAction: 'EMISION_MOVE', postEmisionDirectory: at('done') },
        }),
      },
    ],
  }
}

function protectionOf(kind: NetworkKind, { privateKeyPem, certificatePem }: Keys): Partial<PlatformChannel> {
  if (kind !== 'oftp2 protected') return {}
  return {
    svcff: true,
    emissionff: true,
    receptionff: true,
    security: {
      cryptography: true,
      ciphrate: 'FILE',
      rsaLocalKey: privateKeyPem + certificatePem,
      rsaRemoteKey: certificatePem,
    },
  }
}

type Connection = NonNullable<PlatformChannel['connection']>
type Ends = {
  /** Of this node, where the two ends are known by their entities alone: the one that sends comes first. */
  entities: string[]
  sender: { contact: PlatformContact; connection: Connection }
  receiver: { code: string; contact: PlatformContact; connection: Connection; calls: boolean }
}

function endsOf(kind: Exclude<NetworkKind, 'to sshd' | 'from sshd'>, number: number, network: Network): Ends {
  const outgoing = `OUT${number}`
  const incoming = `IN${number}`
  const here = `HERE${number}`
  const { addresses } = network
  const calling = (port: number) => ({
    remoteIPs: addresses.map((ipAddress) => ({ id: ipAddress, ipAddress, port })),
  })
  const oftp2 = kind === 'oftp2' || kind === 'oftp2 protected'
  const pushes = kind === 'sftp' || kind === 'sftp verified'
  const anyOf = { retries: RETRIES, rotations: addresses.length > 1 }
  const called: Connection = { ips: addresses, advancedConfigurationConnection: anyOf }
  const calls: Connection = {
    ...called,
    advancedConfigurationTransmission: {
      registersBlock: REGISTERS,
      downloadConf: oftp2,
      ...(kind === 'oftp2 protected' && { compression: 'SI' }),
    },
  }
  if (oftp2)
    return {
      entities: [here, outgoing],
      sender: {
        contact: {
          id: outgoing,
          remoteCodes: [{ code: outgoing }],
          protocol: 'oftp2',
          ...calling(network.oftp2Port),
        },
        connection: calls,
      },
      receiver: {
        code: `${outgoing}-${here}-${APPLICATION}`,
        // Receipts of a session that a kill has ended are brought by a call of their own.
        contact: {
          id: incoming,
          remoteCodes: [{ code: here }],
          protocol: 'oftp2',
          ...calling(network.oftp2Port),
        },
        connection: called,
        calls: false,
      },
    }
  const client: PlatformContact = {
    id: pushes ? outgoing : incoming,
    remoteCodes: [{ code: pushes ? outgoing : incoming }],
    protocol: 'sftp',
    ...calling(network.sftpPort),
    sftp: {
      username: `caller-${number}`,
      privateKey: network.key.private,
      hostKeys: network.hostKeys,
      inbox: '/{application}/in',
      outbox: '/{application}/out',
    },
  }
  const server: PlatformContact = {
    id: pushes ? incoming : outgoing,
    remoteCodes: [{ code: pushes ? incoming : outgoing }],
    protocol: 'sftp',
    access: { username: `caller-${number}`, authorizedKeys: [network.key.public] },
  }
  const receives = `${LOCAL}-${incoming}-${APPLICATION}`
  if (pushes)
    return {
      entities: [],
      sender: { contact: client, connection: calls },
      receiver: { code: receives, contact: server, connection: called, calls: false },
    }
  return {
    entities: [],
    sender: {
      contact: server,
      connection: {
        ...called,
        advancedConfigurationTransmission: { downloadConf: kind === 'picked up', timeoutAck: 9999 },
      },
    },
    receiver: { code: receives, contact: client, connection: calls, calls: true },
  }
}
