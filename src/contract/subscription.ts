// Who is told of events, and how, as people write it.

import type { Static } from 'typebox'
import { name } from './calendar.ts'
import { EVENT_TYPES } from './event-types.ts'
import type { EventType } from './event-types.ts'
import { oneOf } from './schema.ts'
import { Type } from './type.ts'

const optional = Type.Optional

export const MAIL_LANGUAGES = ['es', 'en'] as const
export type MailLanguage = (typeof MAIL_LANGUAGES)[number]

/** `whsec_` and base64: HMAC-SHA256. `whsk_` and base64: an Ed25519 private key. */
const SECRET_PATTERN = '^(whsec|whsk)_[A-Za-z0-9+/]{32,100}={0,2}$'

const Webhook = Type.Object(
  {
    url: Type.String({
      maxLength: 2048,
      pattern: '^https?://[^\\s]+$',
      description: 'Where events are posted to.',
    }),
    secrets: optional(
      Type.Array(Type.String({ pattern: SECRET_PATTERN }), {
        minItems: 1,
        maxItems: 5,
        description:
          'What events are signed with: whsec_ and base64 of 24 to 64 octets (HMAC-SHA256), or whsk_ and base64 of an Ed25519 key. Several while one is changed.',
      }),
    ),
  },
  { additionalProperties: false, description: 'By HTTP, as the Standard Webhooks specification has it.' },
)

const Mail = Type.Object(
  {
    to: Type.Array(Type.String({ maxLength: 255, pattern: '^[^\\s@<>,;]+@[^\\s@<>,;]+$' }), {
      minItems: 1,
      maxItems: 50,
      description: 'E-mail addresses.',
    }),
    language: optional(oneOf(MAIL_LANGUAGES, 'Language of the mails; en without it.')),
  },
  { additionalProperties: false, description: 'By mail.' },
)

export const Subscription = Type.Object(
  {
    id: name('What it is called by.'),
    webhook: optional(Webhook),
    mail: optional(Mail),
    events: Type.Array(Type.String({ maxLength: 64, pattern: '^[a-z*.]+$' }), {
      minItems: 1,
      maxItems: 100,
      description: 'Types of events; * stands for anything, as in expectation.*',
    }),
    channels: optional(
      Type.Array(Type.String({ maxLength: 100, pattern: '^[A-Za-z0-9_.*?-]+$' }), {
        minItems: 1,
        maxItems: 1000,
        description:
          'Only events of these channels; * stands for anything, ? for one character. All without it.',
      }),
    ),
  },
  { additionalProperties: false, description: 'Who is told of which events, by a webhook or by mail.' },
)
export type Subscription = Static<typeof Subscription>

/** Whether an event may be subscribed to: a test goes to the one that is tested. */
export const SUBSCRIBABLE: readonly EventType[] = EVENT_TYPES.filter((type) => type !== 'subscription.test')
