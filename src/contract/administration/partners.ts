// The two ends of channels: local entities, and contacts with how they are reached. The shapes are the platform file's.

import type { Static } from 'typebox'
import { PROTOCOLS } from '../contact-settings.ts'
import type { Operation } from '../operations.ts'
import { pageOf } from '../page.ts'
import { oneOf } from '../schema.ts'
import { Type } from '../type.ts'
import { CHANGE, CREATE, ContactParams, EntityParams, LIST, ListQuery, READ } from './changed.ts'
import { PlatformContact, PlatformEntity } from './platform-file.ts'

const out = (description: string) => Type.String({ description })
const count = (description: string) => Type.Integer({ format: 'int32', description })
const closed = { additionalProperties: false } as const

const { code: _code, ...entityFields } = PlatformEntity.properties
export const EntityFields = Type.Object(entityFields, {
  ...closed,
  description: 'A local entity as it shall be: what is left out is cleared.',
})
export const LocalEntityFacts = Type.Object(
  { ...PlatformEntity.properties, channels: count('Channels it has.') },
  { description: 'A local entity.' },
)

const { id: _id, ...contactFields } = PlatformContact.properties
export const ContactFields = Type.Object(contactFields, {
  ...closed,
  description:
    'A contact as it shall be: what is left out is cleared, but for secrets and contactInfo, which stay; null clears a secret.',
})

const { contactInfo: _people, ...shownFields } = PlatformContact.properties
/** Without people's data, which the contact list of the interface alone shows. */
export const ContactFacts = Type.Object(
  {
    ...shownFields,
    secrets: Type.Array(Type.String(), { description: 'JSON pointers of the secrets that are set.' }),
    channels: Type.Array(Type.String(), { description: 'Codes of its channels.' }),
  },
  { description: 'A contact with how it is reached, without its secrets and its people.' },
)

export const ContactSummary = Type.Object(
  {
    id: out('Identifier of the contact.'),
    name: Type.Optional(out('Its name.')),
    protocol: oneOf(PROTOCOLS, 'How its channels are carried.'),
    remoteCodes: Type.Array(Type.String(), { description: 'Its codes.' }),
    addresses: Type.Array(Type.String(), {
      description: 'Its addresses, with their ports: `host:port`, or `[IPv6]:port`.',
    }),
    channels: count('Channels it has.'),
    calledBy: oneOf(
      ['US', 'PARTNER', 'BOTH', 'NOBODY'] as const,
      'Who can call: this node, the partner (its SFTP account here), both; NOBODY: neither is set up.',
    ),
  },
  { description: 'A contact in a list.' },
)

export type ContactFacts = Static<typeof ContactFacts>
export type ContactSummary = Static<typeof ContactSummary>
export type LocalEntityFacts = Static<typeof LocalEntityFacts>

export const partnerOperations = {
  listEntities: {
    ...LIST,
    path: '/platform/v1/local-entities',
    summary: 'List local entities, by code',
    query: ListQuery,
    ok: pageOf(LocalEntityFacts),
  },
  readEntity: {
    ...READ,
    path: '/platform/v1/local-entities/{code}',
    summary: 'Read a local entity',
    params: EntityParams,
    ok: LocalEntityFacts,
  },
  createEntity: {
    ...CREATE,
    path: '/platform/v1/local-entities',
    summary: 'Make a local entity',
    body: PlatformEntity,
  },
  changeEntity: {
    ...CHANGE,
    method: 'PUT',
    path: '/platform/v1/local-entities/{code}',
    summary: 'Change a local entity',
    params: EntityParams,
    body: EntityFields,
  },
  removeEntity: {
    ...CHANGE,
    method: 'DELETE',
    path: '/platform/v1/local-entities/{code}',
    summary: 'Remove a local entity that has no channels',
    params: EntityParams,
  },
  searchContacts: {
    ...LIST,
    path: '/platform/v1/contacts',
    summary: 'Find contacts, by id',
    query: ListQuery,
    ok: pageOf(ContactSummary),
  },
  readContact: {
    ...READ,
    path: '/platform/v1/contacts/{contactId}',
    summary: 'Read a contact and how it is reached',
    params: ContactParams,
    ok: ContactFacts,
  },
  createContact: {
    ...CREATE,
    path: '/platform/v1/contacts',
    summary: 'Make a contact',
    body: PlatformContact,
  },
  changeContact: {
    ...CHANGE,
    method: 'PUT',
    path: '/platform/v1/contacts/{contactId}',
    summary: 'Change a contact and how it is reached',
    params: ContactParams,
    body: ContactFields,
  },
  removeContact: {
    ...CHANGE,
    method: 'DELETE',
    path: '/platform/v1/contacts/{contactId}',
    summary: 'Remove a contact that has no channels',
    params: ContactParams,
  },
} as const satisfies Record<string, Operation>
