// Routes over real lines: the node under test calls its own listeners, so that whatever kills it cuts both ends of a
// transfer in the same moment. Of several nodes each calls whichever of them answers first. One channel sends what lies in `out`; the other one, of another entity or with another
// contact, puts it into `in`.
//
//   oftp2        pushed over OFTP2, acknowledged by a receipt
//   sftp         pushed over SFTP into the node's own listener
//   picked up    laid out, and fetched over SFTP by the other channel; complete when it was taken (downloadConf)
//   handed over  the same without downloadConf: the original goes as soon as the file lies there

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import ssh2 from 'ssh2'
import type { PlatformChannel, PlatformContact } from '../../src/contract/administration/platform-file.ts'
import { fingerprintOf, readPrivateKey } from '../../src/engine/transports/ssh/keys.ts'
import { ensureFolder } from '../../src/files/place.ts'
import { freePort } from '../support/free-port.ts'
import type { Settings } from './node-process.ts'
import type { Route } from './routes.ts'

export const NETWORK_KINDS = ['oftp2', 'sftp', 'picked up', 'handed over'] as const
export type NetworkKind = (typeof NETWORK_KINDS)[number]

/** Where the nodes listen, each at an address of its own, and how they prove themselves to each other. */
export type Network = {
  settings: Settings[]
  addresses: string[]
  oftp2Port: number
  sftpPort: number
  hostKeys: string[]
  key: { private: string; public: string }
}

export async function makeNetwork(dataDir: string, nodes: number): Promise<Network> {
  const [oftp2Port, sftpPort] = [await freePort(), await freePort()]
  const addresses = Array.from({ length: nodes }, (_, nth) => `127.0.0.${nth + 1}`)
  const host = ssh2.utils.generateKeyPairSync('ed25519').private
  await ensureFolder(dataDir)
  await writeFile(join(dataDir, 'sftp-host-key.pem'), host, { mode: 0o600 })
  return {
    settings: addresses.map((address) => ({
      ESCLUSA_LISTEN_HOST: address,
      ESCLUSA_OFTP2_PORT: String(oftp2Port),
      ESCLUSA_SFTP_PORT: String(sftpPort),
    })),
    addresses,
    oftp2Port,
    sftpPort,
    hostKeys: [fingerprintOf(readPrivateKey(host, undefined).getPublicSSH())],
    key: ssh2.utils.generateKeyPairSync('ed25519'),
  }
}

const LOCAL = 'BANCO'
const APPLICATION = 'FILES'

export function makeNetworkRoute(kind: NetworkKind, number: number, root: string, network: Network): Route {
  const at = (name: string) => join(root, String(number), name)
  const { there, sender, receiver } = endsOf(kind, number, network)
  const deletes = kind === 'handed over'
  const sends = `${LOCAL}-OUT${number}-${APPLICATION}`
  return {
    kind,
    source: at('out'),
    end: at('in'),
    watched: [at('in')],
    original: deletes ? 'gone' : { folder: at('done') },
    sends,
    receives: receiver.code,
    folders: ['out', 'in', 'done'].map(at),
    entities: there === undefined ? [] : [there],
    contacts: [sender.contact, receiver.contact],
    channels: [
      {
        code: sends,
        contact: sender.contact.id,
        direction: 'EMISION',
        directories: [{ direction: 'EMISION', filePath: at('out'), fileFormat: 'BINARIO' }],
        allowSendDuplicateFiles: false,
        automation: { watch: true },
        connection: sender.connection,
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
        ...(receiver.calls && { automation: { watch: true } }),
      },
    ],
  }
}

type Connection = NonNullable<PlatformChannel['connection']>
type Ends = {
  /** The second entity of this node, where the two ends are known by their entities alone. */
  there?: string
  sender: { contact: PlatformContact; connection: Connection }
  receiver: { code: string; contact: PlatformContact; connection: Connection; calls: boolean }
}

function endsOf(kind: NetworkKind, number: number, network: Network): Ends {
  const outgoing = `OUT${number}`
  const incoming = `IN${number}`
  const { addresses } = network
  const calling = (port: number) => ({
    remoteIPs: addresses.map((ipAddress) => ({ id: ipAddress, ipAddress, port })),
  })
  // No kill may use up the attempts. And restart points are close together: more of them are hit.
  const anyOf = { retries: 99, rotations: addresses.length > 1 }
  const called: Connection = { ips: addresses, advancedConfigurationConnection: anyOf }
  const calls: Connection = {
    ...called,
    advancedConfigurationTransmission: { registersBlock: 256, downloadConf: kind === 'oftp2' },
  }
  if (kind === 'oftp2')
    return {
      there: outgoing,
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
        code: `${outgoing}-${LOCAL}-${APPLICATION}`,
        // Receipts of a session that a kill has ended are brought by a call of their own.
        contact: {
          id: incoming,
          remoteCodes: [{ code: LOCAL }],
          protocol: 'oftp2',
          ...calling(network.oftp2Port),
        },
        connection: called,
        calls: false,
      },
    }
  const client: PlatformContact = {
    id: kind === 'sftp' ? outgoing : incoming,
    remoteCodes: [{ code: kind === 'sftp' ? outgoing : incoming }],
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
    id: kind === 'sftp' ? incoming : outgoing,
    remoteCodes: [{ code: kind === 'sftp' ? incoming : outgoing }],
    protocol: 'sftp',
    access: { username: `caller-${number}`, authorizedKeys: [network.key.public] },
  }
  const receives = `${LOCAL}-${incoming}-${APPLICATION}`
  if (kind === 'sftp')
    return {
      sender: { contact: client, connection: calls },
      receiver: { code: receives, contact: server, connection: called, calls: false },
    }
  return {
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
