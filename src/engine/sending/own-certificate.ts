// Key-exchange channels send this node's certificate instead of a file.

import { NodeError } from '../../errors.ts'
import { readPrivateKey } from '../transforms/cms/keys.ts'
import type { TransferPlan } from '../transfer-plan.ts'

export function certificateOf(plan: TransferPlan): string {
  const { rsaLocalKey } = plan.security
  const certificate = rsaLocalKey === undefined ? undefined : readPrivateKey(rsaLocalKey).certificate
  if (!certificate)
    throw new NodeError(
      'file_refused',
      `channel ${plan.code} exchanges keys, but security.rsaLocalKey holds no certificate to send`,
    )
  return certificate.pem
}
