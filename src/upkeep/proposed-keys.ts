// Versions before 0.2.0 kept the whole file in which a partner had proposed its key, also where its private key lay in it.
// That is taken out. It is looked for again and again: such a version may be at work beside this one, or in a backup.

import { proposalsWithPrivateKey, replaceProposedPem } from '../store/keys/proposals.ts'
import type { Store } from '../store/database/store.ts'
import type { Task } from './upkeep.ts'

export function proposedKeysTask({ store }: { store: Store }): Task {
  return {
    name: 'proposed-keys',
    everyMs: 3_600_000,
    run: async (pieces) => {
      const left = (await proposalsWithPrivateKey(store.db)).values()
      await pieces(async () => {
        const { value: proposal } = left.next()
        if (!proposal) return false
        await store.write((tx) => replaceProposedPem(tx, proposal.id, withoutPrivateKeys(proposal.pem)))
        return true
      })
    },
  }
}

/** What follows one that has no end is kept: it may be the certificate. */
function withoutPrivateKeys(pem: string): string {
  return pem.replaceAll(
    /-----BEGIN ([A-Z0-9 ]*PRIVATE KEY)-----[^]*?(?:-----END \1-----\s*|(?=-----BEGIN)|$)/g,
    '',
  )
}
