// What the steps to a new partner ask for, and the platform file that it becomes: entity, contact and channel at once, or
// none of them.

import type { Channel } from '../../../src/contract/channel.ts'
import type { ProtocolName } from '../../../src/contract/contact-settings.ts'

export const EMPTY = {
  id: '',
  name: '',
  remote: '',
  protocol: 'oftp2' as ProtocolName,
  address: '',
  port: '',
  oftp2Id: '',
  username: '',
  inbox: '',
  outbox: '',
  encrypted: 'true',
  localKey: '',
  remoteKey: '',
  certificate: '',
  generate: 'true',
  password: '',
  privateKey: '',
  hostKeys: '',
  entity: '',
  entityCode: '',
  entityName: '',
  entityOftp2Id: '',
  like: '',
  application: '',
  direction: 'BIDIRECCIONAL',
  outbound: '',
  inbound: '',
}
export type PartnerDraft = typeof EMPTY

/** A new entity, to be made with the rest. */
export const NEW = '+'

export function localCode({ entity, entityCode }: PartnerDraft): string {
  return (entity === NEW ? entityCode : entity).trim()
}

export function channelCode(draft: PartnerDraft): string {
  return [localCode(draft), draft.remote.trim(), draft.application.trim()].join('-')
}

/** What has no value is left out. */
function given<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== ''),
  ) as Partial<T>
}

const trimmed = (text: string) => text.trim()

function contactOf(draft: PartnerDraft): object {
  const { protocol, address, port, hostKeys } = draft
  const folders = { inbox: trimmed(draft.inbox), outbox: trimmed(draft.outbox) }
  const sections = {
    oftp2: given({ id: trimmed(draft.oftp2Id) }),
    sftp: given({
      username: trimmed(draft.username),
      password: draft.password,
      privateKey: draft.privateKey,
      hostKeys: hostKeys.split('\n').map(trimmed).filter(Boolean),
      ...folders,
    }),
    folder: folders,
  }
  return {
    ...given({ id: trimmed(draft.id), name: trimmed(draft.name) }),
    protocol,
    remoteCodes: [{ id: '1', code: trimmed(draft.remote) }],
    ...(protocol !== 'folder' && {
      remoteIPs: [{ id: '1', ipAddress: trimmed(address), ...(port.trim() && { port: Number(port) }) }],
    }),
    [protocol]: sections[protocol],
  }
}

type Security = NonNullable<Channel['security']>

/** What was typed: passwords, and the partner's certificate. */
function typedKeys({ localKey, remoteKey, certificate }: PartnerDraft): Security {
  return given({
    ...(localKey !== '' && { authentication: 'PASSWORD' as const }),
    localKey,
    remoteKey,
    rsaRemoteKey: certificate,
  })
}

function securityOf(draft: PartnerDraft): { security?: Security } {
  if (draft.protocol !== 'oftp2') return {}
  const encrypted = { cryptography: true, ciphrate: 'TRANSMISION' } as const
  const security = { ...(draft.encrypted === 'true' && encrypted), ...typedKeys(draft) }
  return Object.keys(security).length > 0 ? { security } : {}
}

/** What a channel made like another gets on top: a copy has the other's settings and none of its keys. */
export function keysOfCopy(draft: PartnerDraft): { security: Security } | undefined {
  const security = draft.protocol === 'oftp2' ? typedKeys(draft) : {}
  return Object.keys(security).length > 0 ? { security } : undefined
}

export function platformOf(draft: PartnerDraft): object {
  const { entity, entityName, entityOftp2Id, like, direction, outbound, inbound } = draft
  const directories = [
    ...(outbound.trim() && direction !== 'RECEPCION'
      ? [{ direction: 'EMISION', filePath: outbound.trim() }]
      : []),
    ...(inbound.trim() && direction !== 'EMISION'
      ? [{ direction: 'RECEPCION', filePath: inbound.trim() }]
      : []),
  ]
  return {
    ...(entity === NEW && {
      localEntities: [
        {
          code: localCode(draft),
          name: entityName.trim() || localCode(draft),
          ...(entityOftp2Id.trim() && { oftp2: { id: entityOftp2Id.trim() } }),
        },
      ],
    }),
    contacts: [contactOf(draft)],
    // One that is made like another is copied by the node, when the partner is there.
    ...(like === '' && {
      channels: [
        {
          code: channelCode(draft),
          contact: draft.id.trim(),
          direction,
          ...(directories.length > 0 && { directories }),
          ...securityOf(draft),
        },
      ],
    }),
  }
}
