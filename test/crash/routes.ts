// The ways that files take through a platform under test. Each route has a folder where files are put in and one where
// every one of them must lie at the end, whole and once; between the two there are one or two channels, here over the
// folder protocol and in network-routes.ts over others. In a relay the partner's inbox of the first channel is the outbox of the second, so what one channel
// delivers is taken away by the other, as a real partner would.

import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Channel, Directory } from '../../src/contract/channel.ts'
import type {
  Platform,
  PlatformChannel,
  PlatformContact,
} from '../../src/contract/administration/platform-file.ts'
import type { NetworkKind } from './network-routes.ts'

export const KINDS = [
  'moved',
  'deleted',
  'asked',
  'fetched',
  'moved in',
  'gzip relay',
  'signed relay',
  'relay',
] as const
export type Kind = (typeof KINDS)[number]

export type Route = {
  kind: Kind | NetworkKind
  /** Files are put in here. */
  source: string
  /** Here each of them must be at the end. */
  end: string
  /** Where visible files must be the whole source file at any time. */
  watched: string[]
  /** What becomes of the source file: it stays, it is gone, or it lies in this folder. */
  original: 'stays' | 'gone' | { folder: string }
  sends: string | undefined
  receives: string | undefined
  folders: string[]
  /** Of this node, beside the one that all routes have. */
  entities: string[]
  contacts: PlatformContact[]
  channels: PlatformChannel[]
}

export type Keys = { privateKeyPem: string; certificatePem: string }

const LOCAL = 'BANCO'

export function makeRoute(kind: Kind, number: number, root: string, keys: Keys): Route {
  const at = (name: string) => join(root, String(number), name)
  const emits = kind !== 'fetched' && kind !== 'moved in'
  const relay = kind.endsWith('relay')
  const receives = relay || !emits
  const route: Route = {
    kind,
    source: emits ? at('out') : at('outbox'),
    end: !receives ? at('inbox') : movesIn(kind) ? at('final') : at('in'),
    watched: [],
    original: 'gone',
    sends: emits ? code(number, 'OUT') : undefined,
    receives: receives ? code(number, 'IN') : undefined,
    folders: ['out', 'inbox', 'outbox', 'in', 'final', 'done', 'unused'].map(at),
    entities: [],
    contacts: [],
    channels: [],
  }
  if (!receives) route.watched = [at('inbox')]
  else route.watched = [at('in'), at('final'), ...(kind === 'relay' ? [at('inbox')] : [])]
  if (emits) addSender(route, kind, number, at, keys)
  if (receives) addReceiver(route, kind, number, at, keys)
  return route
}

function movesIn(kind: Kind): boolean {
  return kind === 'moved in' || kind === 'signed relay'
}

function code(number: number, way: 'OUT' | 'IN'): string {
  return `${LOCAL}-${way}${number}-FILES`
}

function contact(id: string, inbox: string, outbox: string): PlatformContact {
  return { id, name: id, remoteCodes: [{ code: id }], protocol: 'folder', folder: { inbox, outbox } }
}

function addSender(route: Route, kind: Kind, number: number, at: (name: string) => string, keys: Keys): void {
  route.contacts.push(contact(`OUT${number}`, at('inbox'), at('unused')))
  const deletes = kind === 'deleted' || kind === 'signed relay'
  route.original = kind === 'asked' ? 'stays' : deletes ? 'gone' : { folder: at('done') }
  const integrations: Channel['integrations'] =
    kind === 'asked'
      ? { postEmisionAction: 'EMISION_NO' }
      : deletes
        ? { postEmisionAction: 'EMISION_DELETE' }
        : { postEmisionAction: 'EMISION_MOVE', postEmisionDirectory: at('done') }
  route.channels.push({
    ...channelOf(
      code(number, 'OUT'),
      `OUT${number}`,
      'EMISION',
      directory(kind, 'EMISION', at('out')),
      kind,
      keys,
    ),
    integrations,
    ...(kind !== 'asked' && { automation: { watch: true } }),
  })
}

function addReceiver(
  route: Route,
  kind: Kind,
  number: number,
  at: (name: string) => string,
  keys: Keys,
): void {
  const outbox = kind.endsWith('relay') ? at('inbox') : at('outbox')
  route.contacts.push(contact(`IN${number}`, at('unused'), outbox))
  route.channels.push({
    ...channelOf(
      code(number, 'IN'),
      `IN${number}`,
      'RECEPCION',
      directory(kind, 'RECEPCION', at('in')),
      kind,
      keys,
    ),
    automation: { watch: true },
    ...(movesIn(kind) && {
      integrations: { postReceptionAction: 'RECEPTION_MOVE', postReceptionDirectory: at('final') },
    }),
  })
}

function directory(kind: Kind, direction: 'EMISION' | 'RECEPCION', filePath: string): Directory {
  return { direction, filePath, fileFormat: 'BINARIO', ...(kind === 'gzip relay' && { compression: true }) }
}

function channelOf(
  channelCode: string,
  contactId: string,
  direction: 'EMISION' | 'RECEPCION',
  inOrOut: Directory,
  kind: Kind,
  keys: Keys,
): PlatformChannel {
  return {
    code: channelCode,
    contact: contactId,
    direction,
    directories: [inOrOut],
    allowSendDuplicateFiles: false,
    validationHashFiles: kind === 'deleted',
    connection: {
      advancedConfigurationConnection: { callingEnd: 'LOCAL', retries: 3 },
      // Restart points close together: more of them are hit.
      ...(kind === 'fetched' && { advancedConfigurationTransmission: { registersBlock: 256 } }),
    },
    ...(kind === 'signed relay' && {
      svcff: true,
      emissionff: true,
      receptionff: true,
      security: { rsaLocalKey: keys.privateKeyPem + keys.certificatePem, rsaRemoteKey: keys.certificatePem },
    }),
  }
}

export const OPERATOR = 'operator'

export function platformOf(routes: readonly Route[]): Platform {
  return {
    localEntities: [
      { code: LOCAL, name: 'Banco Azul' },
      ...routes.flatMap(({ entities }) => entities.map((code) => ({ code, name: code }))),
    ],
    users: [{ username: OPERATOR, email: 'operator@banco.example', role: 'ROLE_GLOBALADMIN' }],
    contacts: routes.flatMap((route) => route.contacts),
    channels: routes.flatMap((route) => route.channels),
  }
}

export async function makeFolders(routes: readonly Route[]): Promise<void> {
  for (const route of routes) for (const folder of route.folders) await mkdir(folder, { recursive: true })
}
