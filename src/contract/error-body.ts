// One body for every error of every operation.

import type { Static } from 'typebox'
import { Type } from './type.ts'

export const ErrorBody = Type.Object(
  {
    timestamp: Type.String({ description: 'yyyy-MM-dd’T’HH:mm:ss.SSSXXX' }),
    status: Type.Integer({ description: 'HTTP status.' }),
    error: Type.String({ description: 'Text of the status.' }),
    message: Type.String({
      description: 'What is wrong and where: the field by JSON pointer, the allowed values.',
    }),
    path: Type.String({ description: 'Path of the request, with the prefix.' }),
  },
  { description: 'What went wrong.' },
)

export type ErrorBody = Static<typeof ErrorBody>
