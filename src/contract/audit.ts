// The audit trail: who did what, when, from where, with what was before and after. Only users with `administration`
// read it; only the node writes it.

import type { Static } from 'typebox'
import type { Operation } from './operations.ts'
import { oneOf } from './schema.ts'
import { Type } from './type.ts'
import { ROLES } from './user.ts'

export const AUDIT_ACTIONS = [
  'LOGIN',
  'LOGIN_REFUSED',
  'LOGOUT',
  'ACCESS_REFUSED',
  'USER_CREATED',
  'USER_CHANGED',
  'USER_REMOVED',
  'PASSWORD_CHANGED',
  'TOKEN_CREATED',
  'TOKEN_REVOKED',
  'SESSIONS_ENDED',
  'ENTITY_CREATED',
  'ENTITY_CHANGED',
  'ENTITY_REMOVED',
  'CONTACT_CREATED',
  'CONTACT_CHANGED',
  'CONTACT_REMOVED',
  'CONTACT_TESTED',
  'CHANNEL_CREATED',
  'CHANNEL_CHANGED',
  'CHANNEL_REMOVED',
  'CHANNEL_RESET',
  'CALENDAR_CREATED',
  'CALENDAR_CHANGED',
  'CALENDAR_REMOVED',
  'SUBSCRIPTION_CREATED',
  'SUBSCRIPTION_CHANGED',
  'SUBSCRIPTION_REMOVED',
  'SUBSCRIPTION_TESTED',
  'DELIVERY_RESENT',
  'EXPECTATION_CREATED',
  'EXPECTATION_CHANGED',
  'EXPECTATION_REMOVED',
  'EXPECTATION_ACKNOWLEDGED',
  'KEY_GENERATED',
  'KEY_UPLOADED',
  'KEY_ACCEPTED',
  'KEY_REFUSED',
  'TRANSFER_SENT',
  'TRANSFER_FETCHED',
  'TRANSFER_RETRIED',
  'TRANSFER_RESENT',
  'TRANSFER_CANCELLED',
  'FILE_UPLOADED',
  'FILE_DOWNLOADED',
  'PLATFORM_APPLIED',
  'PLATFORM_EXPORTED',
  'BACKUP_MADE',
  'BACKUP_RESTORED',
  'HELD_FILE_RELEASED',
  'HELD_FILE_DROPPED',
  'QUARANTINE_RELEASED',
  'QUARANTINE_DISCARDED',
  'MASTER_KEY_ROTATED',
  'JWT_SECRET_ROTATED',
  'TRANSFERS_EXPORTED',
  'AUDIT_EXPORTED',
  'AUDIT_PRUNED',
  'NODE_STARTED',
  'NODE_STOPPED',
] as const
export type AuditAction = (typeof AUDIT_ACTIONS)[number]

export const AUDIT_OUTCOMES = ['DONE', 'REFUSED'] as const
export type AuditOutcome = (typeof AUDIT_OUTCOMES)[number]

/** How the doer was known to the node. */
const AUDIT_VIAS = ['PASSWORD', 'TOKEN', 'SESSION', 'COMMAND', 'NODE', 'NOBODY'] as const
export type AuditVia = (typeof AUDIT_VIAS)[number]

const AUDIT_SUBJECTS = [
  'user',
  'token',
  'entity',
  'contact',
  'channel',
  'key',
  'transfer',
  'calendar',
  'subscription',
  'expectation',
] as const
export type AuditSubject = (typeof AUDIT_SUBJECTS)[number]

const out = (description: string) => Type.String({ description })
const anything = (description: string) => Type.Unsafe<unknown>({ description })

export const AuditChange = Type.Object(
  {
    field: out('JSON pointer of the field.'),
    before: Type.Optional(anything('Its value before; absent: it had none. Secrets as a fingerprint.')),
    after: Type.Optional(anything('Its value after; absent: it was cleared.')),
  },
  { description: 'One field that was changed.' },
)

export const AuditEntry = Type.Object(
  {
    id: out('Identifier of the entry.'),
    seq: Type.Optional(
      Type.Integer({
        format: 'int64',
        description: 'Place in the chain; absent for a moment after writing.',
      }),
    ),
    at: Type.String({ format: 'date-time', description: 'When.' }),
    node: out('Which process wrote it.'),
    user: Type.Optional(out('Who.')),
    via: oneOf(
      AUDIT_VIAS,
      'How: PASSWORD a login; TOKEN a bearer token; SESSION the console; COMMAND the command line on the node’s machine, where user is the one of the operating system; NODE by itself; NOBODY before anybody was known.',
    ),
    tokenId: Type.Optional(out('Identifier of the token, where one was used.')),
    address: Type.Optional(out('From which address, or machine.')),
    action: oneOf(AUDIT_ACTIONS, 'What.'),
    outcome: oneOf(AUDIT_OUTCOMES, 'Whether it was done.'),
    subjectKind: Type.Optional(oneOf(AUDIT_SUBJECTS, 'Of what kind the thing is.')),
    subject: Type.Optional(out('Its name.')),
    channelCode: Type.Optional(out('The channel it concerns.')),
    note: Type.Optional(out('More, in words.')),
    changes: Type.Optional(Type.Array(AuditChange, { description: 'What was changed.' })),
    facts: Type.Optional(anything('More, by name.')),
  },
  { description: 'An entry of the audit trail.' },
)

export const AuditPage = Type.Object(
  {
    content: Type.Array(AuditEntry, { description: 'Entries, newest first.' }),
    next: Type.Optional(out('Give it as `before` to read on; absent at the end.')),
    complete: Type.Boolean({
      description:
        'False: the search stopped after looking at many entries that do not fit; `next` goes on from there.',
    }),
  },
  { description: 'A stretch of the audit trail.' },
)

export const AuditVerification = Type.Object(
  {
    whole: Type.Boolean({ description: 'No entry was changed, removed, moved or added.' }),
    entries: Type.Integer({ format: 'int64', description: 'Entries in the chain.' }),
    open: Type.Integer({ format: 'int64', description: 'Entries that are not in the chain yet.' }),
    from: Type.Integer({ format: 'int64', description: 'Place of the first entry that is kept.' }),
    to: Type.Integer({ format: 'int64', description: 'Place of the last one.' }),
    findings: Type.Array(Type.String(), { description: 'What is wrong, the first hundred.' }),
  },
  { description: 'Whether the audit trail is whole.' },
)

const word = (description: string, maxLength = 255) =>
  Type.Optional(Type.String({ maxLength, pattern: '^[^\\u0000]*$', description }))
const day = (description: string) => Type.Optional(Type.String({ format: 'date', description }))

const filters = {
  user: word('Only what this user did.'),
  action: Type.Optional(oneOf(AUDIT_ACTIONS, 'Only this.')),
  outcome: Type.Optional(oneOf(AUDIT_OUTCOMES, 'Only with this outcome.')),
  subjectKind: Type.Optional(oneOf(AUDIT_SUBJECTS, 'Only about things of this kind.')),
  subject: word('Only about the thing of this name; needs subjectKind.'),
  channelCode: word('Only what concerns this channel.'),
  address: word('Only from this address.'),
  initialDate: day('First day, yyyy-MM-dd, node’s time zone.'),
  endDate: day('Last day, yyyy-MM-dd, included.'),
  search: word('Words that must all occur in user, subject, note, changes or facts; case is ignored.'),
}
const query = <P extends Parameters<typeof Type.Object>[0]>(properties: P) =>
  Type.Object(properties, { additionalProperties: false })

const AUDIT = {
  method: 'GET',
  tag: 'Audit',
  roles: ROLES,
  auth: 'administration',
} as const

export const auditOperations = {
  auditTrail: {
    ...AUDIT,
    path: '/platform/v1/audit',
    summary: 'Read the audit trail, newest first',
    query: query({
      ...filters,
      before: word('Only entries before this one.'),
      size: Type.Optional(
        Type.Integer({ minimum: 1, maximum: 1000, default: 50, description: 'How many entries.' }),
      ),
    }),
    ok: AuditPage,
    codes: [400, 401, 403, 500],
  },
  auditExport: {
    ...AUDIT,
    path: '/platform/v1/audit/export',
    summary: 'The audit trail as a file, oldest first',
    query: query({
      ...filters,
      format: Type.Optional(
        oneOf(['jsonl', 'csv'] as const, 'JSON lines, which carry the chain too, or CSV.'),
      ),
    }),
    ok: Type.String({ description: 'One entry a line.' }),
    produces: ['application/x-ndjson', 'text/csv'],
    codes: [400, 401, 403, 500],
  },
  auditVerification: {
    ...AUDIT,
    path: '/platform/v1/audit/verification',
    summary: 'Whether the audit trail is whole',
    ok: AuditVerification,
    codes: [400, 401, 403, 500],
  },
} as const satisfies Record<string, Operation>

export type AuditEntry = Static<typeof AuditEntry>
export type AuditChange = Static<typeof AuditChange>
export type AuditVerification = Static<typeof AuditVerification>
