// What the user may do, from the same tables that the node uses. What is not allowed is not offered. The node would
// refuse it anyway.

import type { Session } from '../../../sdk/index.ts'
import { operations } from '../../../src/contract/operations.ts'
import type { Operation, OperationName } from '../../../src/contract/operations.ts'
import { platformOperations } from '../../../src/contract/platform.ts'
import type { PlatformOperationName } from '../../../src/contract/platform.ts'
import { hasAuth } from '../../../src/domain/user.ts'

export type AnyOperation = OperationName | PlatformOperationName

export type Rights = {
  may(name: AnyOperation): boolean
  /** The fields of a channel that concern signatures may be changed, and no others. */
  changesSignaturesAlone: boolean
  /** Secrets are shown to administrators only. */
  seesSecrets: boolean
}

const TABLE: Record<AnyOperation, Operation> = { ...operations, ...platformOperations }

export function rightsOf(session: Pick<Session, 'role' | 'auths'>): Rights {
  const { inPart } = TABLE.updateChannel
  return {
    may: (name) => {
      const { roles, auth } = TABLE[name]
      return roles === 'public' || (roles.includes(session.role) && (!auth || hasAuth(session, auth)))
    },
    changesSignaturesAlone:
      inPart !== undefined && inPart.roles.includes(session.role) && hasAuth(session, inPart.auth),
    seesSecrets:
      (session.role === 'ROLE_GLOBALADMIN' || session.role === 'ROLE_ADMIN') && session.auths.administration,
  }
}
