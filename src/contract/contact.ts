// Contacts: the remote partners. `contactInfo` is personal data. Only the contact list shows it; it is never logged.

import type { Static } from 'typebox'
import { allOptional, int32, text } from './schema.ts'
import { Type } from './type.ts'

export const ContactPerson = allOptional(
  {
    id: text('Identifier of the person.'),
    name: text('First name.'),
    lastName: text('Last name.'),
    secondLastName: text('Second last name.'),
    email: text('E-mail address.'),
    phone: text('Telephone.'),
    mobile: text('Mobile telephone.'),
    address: text('Postal address.', 1024),
    ocupation: text('What the person does.'),
  },
  'A person at a partner. Personal data.',
)

export const RemoteCode = allOptional(
  {
    id: text('Identifier.'),
    code: text('Remote code, second part of channel codes.', 32),
    name: text('Label.'),
  },
  'A code of the partner.',
)

export const RemoteIp = allOptional(
  { id: text('Identifier.'), ipAddress: text('Address.', 64), port: int32('Port of that address.') },
  'An address of the partner.',
)

export const Contact = allOptional(
  {
    id: text('Identifier of the contact.', 64),
    name: text('Name of the partner.'),
    version: text('Version of its software.'),
    os: text('Its operating system.'),
    channels: Type.Array(text('A channel code.'), { description: 'Codes of its channels.' }),
    remoteCodes: Type.Array(RemoteCode, { maxItems: 1000, description: 'Its codes.' }),
    remoteIPs: Type.Array(RemoteIp, { maxItems: 1000, description: 'Its addresses.' }),
    contactInfo: Type.Array(ContactPerson, { maxItems: 1000, description: 'Its people.' }),
  },
  'A remote partner.',
)

export type Contact = Static<typeof Contact>
