// What every operation of administration has in common: who may call it, how a change is asked for and answered.

import type { Static } from 'typebox'
import { CHANNEL_CODE_PATTERN } from '../channel.ts'
import { oneOf } from '../schema.ts'
import { Type } from '../type.ts'

export const Changed = Type.Object(
  {
    lines: Type.Array(Type.String(), {
      description: 'What was added (+), changed (~) and removed (-), in the words of `esclusa apply`.',
    }),
    added: Type.Integer({ format: 'int32', description: 'Things added.' }),
    changed: Type.Integer({ format: 'int32', description: 'Things changed.' }),
    removed: Type.Integer({ format: 'int32', description: 'Things removed.' }),
    warnings: Type.Array(Type.String(), { description: 'What is allowed and may not be what was meant.' }),
  },
  { description: 'What a change of the platform did, or with dryRun would do.' },
)
export type Changed = Static<typeof Changed>

export const ADMINISTRATORS = ['ROLE_GLOBALADMIN', 'ROLE_ADMIN'] as const

const dryRun = Type.Optional(oneOf(['true', 'false'] as const, 'true: only say what would change.'))
export const ChangeQuery = Type.Object({ dryRun }, { additionalProperties: false })

export const READ = {
  method: 'GET',
  tag: 'Administration',
  roles: ADMINISTRATORS,
  auth: 'administration',
  codes: [400, 401, 403, 404, 500],
} as const

export const LIST = { ...READ, codes: [400, 401, 403, 500] } as const

/** Of a thing that is there. */
export const CHANGE = {
  tag: 'Administration',
  roles: ADMINISTRATORS,
  auth: 'administration',
  query: ChangeQuery,
  ok: Changed,
  codes: [400, 401, 403, 404, 409, 412, 500],
} as const

/** Of a thing that must not be there yet. */
export const CREATE = { ...CHANGE, method: 'POST', codes: [400, 401, 403, 409, 500] } as const

/** Of a thing that is changed, or made where it is not there. */
export const PUT = { ...CHANGE, method: 'PUT', codes: [400, 401, 403, 409, 412, 500] } as const

const word = (maxLength: number, description: string) =>
  Type.String({ minLength: 1, maxLength, pattern: '^[^\\u0000]*$', description })

export const UserParams = Type.Object({ username: word(64, 'Name of the user.') })
export const EntityParams = Type.Object({ code: word(32, 'Code of the local entity.') })
export const ContactParams = Type.Object({ contactId: word(64, 'Identifier of the contact.') })
export const ChannelParams = Type.Object({
  channelCode: Type.String({
    pattern: CHANNEL_CODE_PATTERN,
    description: '<localCode>-<remoteCode>-<application>',
  }),
})

export const search = Type.Optional(
  Type.String({
    maxLength: 255,
    pattern: '^[^\\u0000]*$',
    description: 'Words that must all occur; case is ignored.',
  }),
)
const count = (byDefault: number, description: string) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: 2_147_483_647, default: byDefault, description }))
export const ListQuery = Type.Object(
  { search, page: count(1, 'Page, from 1.'), size: count(50, 'Items per page.') },
  { additionalProperties: false },
)
