// All operations of administration.

import type { Operation } from '../operations.ts'
import { channelOperations } from './channels.ts'
import { connectionTestOperations } from './connection-test.ts'
import { fileOperations } from './file-operations.ts'
import { noticeOperations } from './notices.ts'
import { partnerOperations } from './partners.ts'
import { tokenOperations } from './tokens.ts'
import { userOperations } from './users.ts'

export const administrationOperations = {
  ...userOperations,
  ...partnerOperations,
  ...connectionTestOperations,
  ...channelOperations,
  ...fileOperations,
  ...noticeOperations,
  ...tokenOperations,
} as const satisfies Record<string, Operation>
