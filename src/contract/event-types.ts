// The events that the node keeps, with one schema per type for its own data. Events are rows in the database, written
// in the transaction of what they tell. Webhooks, mails, the event stream and the list of events all show these.

import type { Static, TObject } from 'typebox'
import { oneOf } from './schema.ts'
import { TRANSFER_DIRECTIONS, TRANSFER_TYPES } from './transfer.ts'
import { Type } from './type.ts'

const out = (description: string) => Type.String({ description })
const count = (description: string) => Type.Integer({ description, format: 'int64' })
const time = (description: string) => Type.String({ description, format: 'date-time' })
const optional = Type.Optional

const transfer = {
  transferId: out('Identifier of the transfer.'),
  direction: oneOf(TRANSFER_DIRECTIONS, 'Which way the files go.'),
  type: oneOf(TRANSFER_TYPES, 'What started it.'),
  requestedBy: optional(out('Who asked for it.')),
}
const ended = {
  ...transfer,
  error: optional(out('Why, in words.')),
  errorCode: optional(out('Why, as a code.')),
}
const file = {
  transferId: out('Identifier of the transfer.'),
  fileName: out('Name without path.'),
  size: optional(count('Octets of the local file.')),
  hash: optional(out('sha256: and 64 hexadecimal digits of the local file’s bytes.')),
}
const byWhom = { detail: optional(out('Who did it, or what it was about.')) }
const key = { fingerprint: out('SHA-256 of the key or certificate, in hexadecimal.') }
const node = { node: out('Name of the node: host, process and a random part.') }
const expectation = {
  expectation: out('Identifier of the expectation.'),
  day: out('The day it is about, yyyy-MM-dd in its own time zone.'),
  direction: oneOf(TRANSFER_DIRECTIONS, 'Which way the files are expected to go.'),
  files: optional(out('Which files are meant; without it any.')),
  atLeast: count('How many are due.'),
  atMost: optional(count('How many there may be.')),
  count: count('How many came so far.'),
  from: time('When the window opened.'),
  by: time('When they are due.'),
}

const data = Type.Object

/** By type. `subscription.*` are about the telling itself. */
export const EVENTS = {
  'transfer.requested': data(transfer, { description: 'A transfer was asked for.' }),
  'transfer.started': data(transfer, { description: 'A transfer began.' }),
  'transfer.completed': data(transfer, { description: 'Every file of a transfer is at the other end.' }),
  'transfer.failed': data(ended, { description: 'A transfer was given up.' }),
  'transfer.cancelled': data(ended, { description: 'A transfer was stopped by a reset.' }),
  'file.sent': data(file, { description: 'A file is at the partner’s, confirmed as its channel asks.' }),
  'file.received': data(file, { description: 'A file was received and lies in its place.' }),
  'file.quarantined': data(
    { ...file, reason: optional(out('Why.')) },
    { description: 'A received file was put aside: it did not pass its checks.' },
  ),
  'channel.created': data(byWhom, { description: 'A channel was made.' }),
  'channel.updated': data(byWhom, { description: 'A channel’s configuration was changed.' }),
  'channel.removed': data(byWhom, { description: 'A channel was removed.' }),
  'partner.unreachable': data(
    { failures: count('Calls in a row that failed.'), error: optional(out('Why the last one did.')) },
    { description: 'A partner does not answer: it is called less and less often from now on.' },
  ),
  'partner.reachable': data({}, { description: 'A partner answers again.' }),
  'key.proposed': data(key, { description: 'A partner sent a key: it waits to be accepted.' }),
  'key.accepted': data({ ...key, ...byWhom }, { description: 'A partner’s key was accepted.' }),
  'key.expiring': data(
    {
      ...key,
      name: optional(out('Subject of the certificate.')),
      use: out('Where it stands: the field of the channel or contact, or the setting of a listener.'),
      expiresAt: time('When it ends.'),
      days: count('Whole days until then; 0 when it has ended.'),
    },
    { description: 'A certificate ends soon.' },
  ),
  'login.refused': data(
    {
      door: oneOf(['http', 'sftp', 'oftp2'], 'Where it was tried.'),
      address: optional(out('From where.')),
      account: optional(out('For which account.')),
      until: optional(time('No further attempt is looked at before.')),
    },
    { description: 'Too many failed logins: further ones are refused for a while.' },
  ),
  'expectation.warning': data(expectation, { description: 'Files are due soon and are not there.' }),
  'expectation.met': data(expectation, { description: 'What was expected is there.' }),
  'expectation.late': data(expectation, { description: 'What was missed came after all.' }),
  'expectation.missed': data(expectation, { description: 'Files were due and did not come.' }),
  'expectation.excess': data(expectation, { description: 'More files came than there may be.' }),
  'node.started': data(
    { ...node, version: out('Version of the program.') },
    { description: 'A node started.' },
  ),
  'node.stopped': data(node, { description: 'A node was stopped.' }),
  'node.lost': data(node, { description: 'A node fell silent without having been stopped.' }),
  'subscription.disabled': data(
    { subscription: out('Identifier of the subscription.'), reason: out('Why.') },
    { description: 'A subscription was switched off: its endpoint is gone, or has failed for days.' },
  ),
  'subscription.test': data(
    { subscription: out('Identifier of the subscription.'), requestedBy: optional(out('Who asked for it.')) },
    { description: 'Somebody tries whether a subscription works; only that one hears of it.' },
  ),
} as const satisfies Record<string, TObject>

export type EventType = keyof typeof EVENTS
export const EVENT_TYPES = Object.keys(EVENTS) as EventType[]
export type EventData<T extends EventType = EventType> = Static<(typeof EVENTS)[T]>

/** An event as it is shown: what all have in common, and `data` by its type. */
export const NodeEvent = Type.Object(
  {
    id: out('Identifier: unique, and in the order of the events.'),
    type: oneOf(EVENT_TYPES, 'What happened.'),
    timestamp: time('When it happened.'),
    channel: optional(out('Code of the channel.')),
    contact: optional(out('The partner.')),
    data: Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      additionalProperties: true,
      description: 'What is particular to its type.',
    }),
  },
  { description: 'Something that happened.' },
)
export type NodeEvent = Static<typeof NodeEvent>
