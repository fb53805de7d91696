// The test of a connection: what a call to a partner would meet, step by step. No file is sent, and nothing is left.

import type { Static } from 'typebox'
import { PROTOCOLS } from '../contact-settings.ts'
import type { Operation } from '../operations.ts'
import { oneOf } from '../schema.ts'
import { Type } from '../type.ts'
import { ADMINISTRATORS, ContactParams } from './changed.ts'

const out = (description: string) => Type.String({ description })
const count = (description: string) => Type.Integer({ format: 'int32', description })
const optional = Type.Optional

const TEST_STEPS = ['RESOLVE', 'TCP', 'TLS', 'HOST_KEY', 'LOGIN', 'RIGHTS'] as const
const TEST_OUTCOMES = ['OK', 'FAILED', 'SKIPPED'] as const

/** What to do about a step that failed, or why it was left out. */
export const TEST_ADVICE = {
  CHECK_NAME: 'Check the name, or give the partner’s address.',
  CHECK_ADDRESS: 'Check address and port, and the firewalls of both ends.',
  CHECK_TLS: 'Check that the port is the one for TLS, and that both ends share a TLS version.',
  CHECK_CERTIFICATE:
    'Compare the certificate with the partner over another line; then set it as the channel’s rsaRemoteKey, or its issuer as oftp2.tls.ca.',
  RENEW_CERTIFICATE: 'Ask the partner for its new certificate before this one ends.',
  CHECK_HOST_KEY: 'Compare the fingerprint with the partner over another line; then add it to sftp.hostKeys.',
  CHECK_ALGORITHMS: 'Ask the partner to allow newer algorithms, or better keys.',
  CHECK_LOGIN: 'Check identifications, user, passwords and keys with the partner.',
  CHECK_RIGHTS: 'Check the path, and that our user may list, write and remove there.',
  NO_ADDRESS: 'The contact has no address: add one.',
  NO_CHANNEL: 'The partner has no channel that this node calls for: make one, then test again.',
  NOT_ENCRYPTED: 'The channel asks for no encrypted line (security.ciphrate).',
  NO_FOLDERS: 'There are no folders to look at.',
  AFTER_FAILURE: 'A step before it failed.',
} as const
export type TestAdvice = keyof typeof TEST_ADVICE

export const TestStep = Type.Object(
  {
    step: oneOf(TEST_STEPS, 'What was tried.'),
    outcome: oneOf(TEST_OUTCOMES, 'How it went.'),
    seen: optional(out('What was seen.')),
    advice: optional(
      oneOf(Object.keys(TEST_ADVICE) as TestAdvice[], 'What to do, or why it was left out, as a code.'),
    ),
    milliseconds: count('How long it took.'),
  },
  { description: 'One step of a test.' },
)
export const TestedCertificate = Type.Object(
  {
    subject: out('Whom it names.'),
    issuer: out('Who issued it.'),
    fingerprint: out('SHA-256, 64 hexadecimal digits.'),
    daysLeft: count('Whole days until it ends; negative when it has ended.'),
    pinned: Type.Boolean({ description: 'Whether it is the very one that the channel keeps.' }),
  },
  { description: 'The certificate that the partner showed.' },
)
export const TestedLine = Type.Object(
  {
    channels: Type.Array(Type.String(), { description: 'Codes of the channels that would call like this.' }),
    address: optional(out('Host and port.')),
    certificate: optional(TestedCertificate),
    hostKey: optional(out('The host key that the server showed and that is pinned: type and fingerprint.')),
    steps: Type.Array(TestStep, { description: 'In their order.' }),
  },
  { description: 'One way to call the partner.' },
)
export const ConnectionTest = Type.Object(
  {
    contactId: out('The partner.'),
    protocol: oneOf(PROTOCOLS, 'How it is reached.'),
    ok: Type.Boolean({ description: 'Whether no step failed.' }),
    ways: Type.Array(TestedLine, { description: 'Each way to call it; the first eight.' }),
  },
  { description: 'What a call to the partner would meet.' },
)
export type ConnectionTest = Static<typeof ConnectionTest>
export type TestedLine = Static<typeof TestedLine>
export type TestStep = Static<typeof TestStep>

export const connectionTestOperations = {
  testContact: {
    method: 'POST',
    tag: 'Administration',
    path: '/platform/v1/contacts/{contactId}/test',
    summary: 'Test the connection to a partner, step by step',
    details:
      'Name, TCP, TLS or host key, login, and rights in the partner’s folders; at the addresses that its channels would call, and nowhere else. No file is sent. It may take a minute.',
    roles: ADMINISTRATORS,
    auth: 'administration',
    params: ContactParams,
    emptyBody: true,
    ok: ConnectionTest,
    codes: [400, 401, 403, 404, 409, 500],
  },
} as const satisfies Record<string, Operation>
