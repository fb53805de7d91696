// What the user may do, from the same table that the node uses. What is not allowed is not offered. The node would
// refuse it anyway.

import type { Session } from '../../../sdk/index.ts'
import { operations } from '../../../src/contract/operations.ts'
import type { Operation, OperationName } from '../../../src/contract/operations.ts'

export type Rights = {
  may(name: OperationName): boolean
  /** Secrets are shown to administrators only. */
  seesSecrets: boolean
}

export function rightsOf(session: Pick<Session, 'role' | 'auths'>): Rights {
  return {
    may: (name) => {
      const { roles, auth }: Operation = operations[name]
      return roles === 'public' || (roles.includes(session.role) && (!auth || session.auths[auth]))
    },
    seesSecrets:
      (session.role === 'ROLE_GLOBALADMIN' || session.role === 'ROLE_ADMIN') && session.auths.administration,
  }
}
