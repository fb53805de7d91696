// Channels made, copied and removed, and what the interface does not show of them. Their configuration is changed by
// the interface's own operation.

import type { Static } from 'typebox'
import { PROTOCOLS } from '../contact-settings.ts'
import { CHANNEL_CODE_PATTERN } from '../channel.ts'
import type { Operation } from '../operations.ts'
import { integer, name, oneOf } from '../schema.ts'
import { Type } from '../type.ts'
import { ROLES } from '../user.ts'
import { CHANGE, CREATE, ChannelParams } from './changed.ts'
import { PlatformChannel } from './platform-file.ts'

const out = (description: string) => Type.String({ description })
const closed = { additionalProperties: false } as const
const { automation, keep, maxOpenedMegabytes } = PlatformChannel.properties

export const AutomaticPause = Type.Object(
  {
    until: Type.String({ description: 'When it tries again.', format: 'date-time' }),
    failures: Type.Integer({
      format: 'int32',
      description: 'Automatic emissions in a row that failed.',
    }),
    transferId: Type.Optional(out('The last of them.')),
    error: Type.Optional(out('Why it failed.')),
  },
  {
    description:
      'What appears in the outbound directory is not sent until then: the last automatic emissions failed. It ends at once when the files or the channel change, or when somebody retries or resets.',
  },
)
export type AutomaticPause = Static<typeof AutomaticPause>

export const ChannelSetup = Type.Object(
  {
    code: out('Code of the channel.'),
    contact: out('The partner.'),
    contactName: Type.Optional(out('Its name.')),
    protocol: oneOf(PROTOCOLS, 'How its files are carried.'),
    alias: Type.Optional(out('What travels instead of the application.')),
    automation,
    automaticPause: Type.Optional(AutomaticPause),
    keep,
    maxOpenedMegabytes,
    warnings: Type.Array(Type.String(), {
      description:
        'What is set and does nothing here, or may not be what was meant, in the words of `esclusa check`.',
    }),
    revision: Type.Integer({ format: 'int32', description: 'Grows with every change.' }),
  },
  { description: 'What the interface does not show of a channel.' },
)
export type ChannelSetup = Static<typeof ChannelSetup>

export const SetupFields = Type.Object(
  {
    contact: Type.Optional(name(64)),
    alias: Type.Optional(Type.Unsafe<string | null>({ ...name(32), type: ['string', 'null'] })),
    keep,
    maxOpenedMegabytes: Type.Optional(
      Type.Unsafe<number | null>({ ...integer(1, 1_000_000_000), type: ['integer', 'null'] }),
    ),
  },
  {
    ...closed,
    description:
      'What is left out stays; null clears the alias and maxOpenedMegabytes, an empty keep clears that.',
  },
)

export const AutomationFields = Type.Object(
  { automation },
  { ...closed, description: 'Exactly one of watch, every and cron; left out: nothing happens by itself.' },
)

export const ChannelCopy = Type.Object(
  {
    code: Type.String({ pattern: CHANNEL_CODE_PATTERN, description: 'Code of the new channel.' }),
    contact: Type.Optional(name(64)),
    secrets: Type.Optional(
      Type.Boolean({ description: 'With its keys and passwords; without if left out.' }),
    ),
  },
  { ...closed, description: 'A new channel that is configured as another.' },
)

export const channelOperations = {
  channelSetup: {
    method: 'GET',
    path: '/platform/v1/channels/{channelCode}',
    tag: 'Platform',
    summary: 'Read what the interface does not show of a channel: partner, protocol, automation',
    roles: ROLES,
    params: ChannelParams,
    badCode: 404,
    ok: ChannelSetup,
    codes: [400, 401, 403, 404, 500],
  },
  createChannel: {
    ...CREATE,
    path: '/platform/v1/channels',
    summary: 'Make a channel',
    body: PlatformChannel,
  },
  copyChannel: {
    ...CHANGE,
    method: 'POST',
    path: '/platform/v1/channels/{channelCode}/copy',
    summary: 'Make a channel like another',
    params: ChannelParams,
    badCode: 400,
    body: ChannelCopy,
    codes: [400, 401, 403, 404, 409, 500],
  },
  changeChannelSetup: {
    ...CHANGE,
    method: 'PUT',
    path: '/platform/v1/channels/{channelCode}/setup',
    summary: 'Give a channel another partner or alias',
    params: ChannelParams,
    badCode: 400,
    body: SetupFields,
  },
  setAutomation: {
    ...CHANGE,
    roles: ['ROLE_GLOBALADMIN', 'ROLE_ADMIN', 'ROLE_ADVOPERATOR'],
    auth: 'editChannels',
    method: 'PUT',
    path: '/platform/v1/channels/{channelCode}/automation',
    summary: 'Say what a channel does by itself',
    params: ChannelParams,
    badCode: 400,
    body: AutomationFields,
  },
  removeChannel: {
    ...CHANGE,
    method: 'DELETE',
    path: '/platform/v1/channels/{channelCode}',
    summary: 'Remove a channel with its history and transfers',
    params: ChannelParams,
    badCode: 400,
  },
} as const satisfies Record<string, Operation>
