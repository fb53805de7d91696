// Who is on the line in a long run: a bank that is never killed, and two partners that are. Between the bank and each
// partner there is a link of every kind, and on each link a route either way.
//
//   kind  how files go                      there                      back
//   F     a folder both see                 bank puts, partner takes   the other way round
//   T     OFTP2 with TLS                    bank calls                 partner calls
//   P     OFTP2 without, over a slow line   bank calls                 handed over when the bank calls
//   S     SFTP                              bank calls and puts        bank calls and fetches

import { join } from 'node:path'
import type { Channel } from '../../src/contract/channel.ts'
import type {
  Platform,
  PlatformChannel,
  PlatformContact,
} from '../../src/contract/administration/platform-file.ts'
import type { KeyPair } from '../../test/support/sftp/openssh.ts'

export const KINDS = ['F', 'T', 'P', 'S'] as const
export type Kind = (typeof KINDS)[number]
export const BANK = 'BANCO'
export const OPERATOR = 'operator'

/** Where to call a node: the near ends of the lines to its listeners. */
export type Reached = { T: number; P: number; S: number }

export type Party = {
  name: string
  home: string
  reached: Reached
  certificate: string
  hostKey: KeyPair
}

export type Route = {
  name: string
  kind: Kind
  /** The node that sends, and its channel. */
  from: string
  sends: string
  to: string
  receives: string
  /** Files are put in here, and each must lie there whole, once. */
  source: string
  end: string
}

type Link = { kind: Kind; bank: Party; partner: Party; shared: string; callerKey: KeyPair }
type Way = 'OUT' | 'BACK'

const entity = (name: string, kind: Kind) => `${name}${kind}`
const codeOf = (own: string, other: string, kind: Kind, way: Way) =>
  `${entity(own, kind)}-${entity(other, kind)}-${way}`
const folderOf = (party: Party, other: Party, kind: Kind, way: Way) =>
  join(party.home, 'files', `${other.name}-${kind}-${way}`.toLowerCase())

export function routesOf({ kind, bank, partner }: Link): Route[] {
  const route = (way: Way, from: Party, to: Party): Route => ({
    name: `${from.name}-${to.name} ${kind}`,
    kind,
    from: from.name,
    sends: codeOf(from.name, to.name, kind, way),
    to: to.name,
    receives: codeOf(to.name, from.name, kind, way),
    source: folderOf(from, to, kind, way),
    end: folderOf(to, from, kind, way),
  })
  return [route('OUT', bank, partner), route('BACK', partner, bank)]
}

export function foldersOf(link: Link): string[] {
  const ways = [`${link.partner.name}-out`, `${link.partner.name}-back`].map((one) => join(link.shared, one))
  return [...ways, ...routesOf(link).flatMap(({ source, end }) => [source, end])]
}

export function platformOf(own: Party, links: readonly Link[]): Platform {
  const mine = links.filter(({ bank, partner }) => bank === own || partner === own)
  return {
    localEntities: KINDS.map((kind) => ({ code: entity(own.name, kind), name: `${own.name} ${kind}` })),
    users: [{ username: OPERATOR, email: 'operator@banco.example', role: 'ROLE_GLOBALADMIN' }],
    contacts: mine.map((link) => contactOf(own, link)),
    channels: mine.flatMap((link) => (['OUT', 'BACK'] as const).map((way) => channelOf(own, link, way))),
  }
}

function contactOf(own: Party, { kind, bank, partner, shared, callerKey }: Link): PlatformContact {
  const isBank = own === bank
  const other = isBank ? partner : bank
  const there = join(shared, `${partner.name}-out`)
  const back = join(shared, `${partner.name}-back`)
  const common = {
    id: entity(other.name, kind),
    name: other.name,
    remoteCodes: [{ id: 'code', code: entity(other.name, kind) }],
  }
  if (kind === 'F')
    return {
      ...common,
      protocol: 'folder',
      folder: isBank ? { inbox: there, outbox: back } : { inbox: back, outbox: there },
    }
  const called = { remoteIPs: [{ id: 'ip', ipAddress: '127.0.0.1', port: other.reached[kind] }] }
  if (kind !== 'S') return { ...common, ...called, protocol: 'oftp2' }
  if (!isBank)
    return {
      ...common,
      protocol: 'sftp',
      access: { username: entity(bank.name, kind).toLowerCase(), authorizedKeys: [callerKey.public] },
    }
  return {
    ...common,
    ...called,
    protocol: 'sftp',
    sftp: {
      username: entity(bank.name, kind).toLowerCase(),
      privateKey: callerKey.private,
      hostKeys: [partner.hostKey.fingerprint],
      inbox: '/{application}/in',
      outbox: '/{application}/out',
    },
  }
}

function channelOf(own: Party, { kind, bank, partner }: Link, way: Way): PlatformChannel {
  const isBank = own === bank
  const other = isBank ? partner : bank
  const sends = isBank === (way === 'OUT')
  const direction = sends ? 'EMISION' : 'RECEPCION'
  /** On P and S the bank alone calls; on T whoever sends. */
  const calls = kind === 'F' || (kind === 'T' ? sends : isBank)
  const connection: Channel['connection'] = {
    ips: ['127.0.0.1'],
    advancedConfigurationConnection: { callingEnd: calls ? 'LOCAL' : 'REMOTO', retries: 8, timeout: 10 },
    ...(kind === 'P' && { advancedConfigurationTransmission: { registersBlock: 64 } }),
  }
  return {
    code: codeOf(own.name, other.name, kind, way),
    contact: entity(other.name, kind),
    direction,
    directories: [{ direction, filePath: folderOf(own, other, kind, way), fileFormat: 'BINARIO' }],
    allowSendDuplicateFiles: false,
    ...(kind === 'F' ? {} : { connection }),
    ...(kind === 'T' && {
      security: {
        cryptography: true,
        ciphrate: 'TRANSMISION',
        // Of who is called; a caller that shows none is taken all the same.
        ...(sends && { rsaRemoteKey: other.certificate }),
      },
    }),
    ...(sends && { integrations: { postEmisionAction: 'EMISION_DELETE' } }),
    ...((sends || calls) && { automation: { watch: true } }),
  }
}

export type { Link }
