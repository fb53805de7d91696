// The platform as a file, through the node: the same plan as on the command line, and the same file.

import type { Operation } from '../operations.ts'
import { oneOf } from '../schema.ts'
import { Type } from '../type.ts'
import { CHANGE, ChangeQuery, READ } from './changed.ts'

export const PlatformFileText = Type.Object(
  {
    file: Type.String({
      description: 'The file, YAML or JSON. { env } and { file } are for the command line.',
    }),
    prune: Type.Optional(Type.Boolean({ description: 'Also remove what the file does not name.' })),
  },
  { additionalProperties: false, description: 'A platform file.' },
)

export const fileOperations = {
  applyPlatformFile: {
    ...CHANGE,
    method: 'POST',
    path: '/platform/v1/platform-file',
    summary: 'Make the platform be as the file says: all or nothing; with dryRun only say what would change',
    query: ChangeQuery,
    body: PlatformFileText,
    bodyLimit: 64 * 1024 * 1024,
    codes: [400, 401, 403, 409, 413, 500],
  },
  exportPlatformFile: {
    ...READ,
    path: '/platform/v1/platform-file',
    summary: 'The platform as a file',
    query: Type.Object(
      {
        secrets: Type.Optional(oneOf(['true', 'false'] as const, 'true: with password hashes and keys.')),
      },
      { additionalProperties: false },
    ),
    ok: Type.String({ description: 'YAML.' }),
    produces: ['application/yaml'],
    codes: [400, 401, 403, 500],
  },
} as const satisfies Record<string, Operation>
