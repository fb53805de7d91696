// Passwords that partners sign in with were once kept so that they could be read back. They become hashes, as soon as no
// node is at work that would not understand them.

import { hashPassword, isPasswordHash } from '../accounts/password.ts'
import { contactPlace, listContacts, replaceSecret } from '../store/contacts.ts'
import type { Store } from '../store/database/store.ts'
import type { Seal } from '../store/seal.ts'
import { olderAtWork } from '../store/transfers/signs-of-life.ts'
import type { Task } from './upkeep.ts'

const POINTER = '/access/password'

export function hashAccessTask(parts: { store: Store; seal: Seal; now: () => number }): Task {
  const { store, seal, now } = parts
  return {
    name: 'hash-access',
    everyMs: 3_600_000,
    run: async (pieces) => {
      if ((await olderAtWork(store.db, now())).length > 0) return
      const left = (await listContacts(store.db))
        .filter(({ secrets }) => secrets[POINTER] !== undefined)
        .values()
      await pieces(async () => {
        const { value: contact } = left.next()
        if (!contact) return false
        const place = contactPlace(contact.id, POINTER)
        const sealed = contact.secrets[POINTER] ?? ''
        const password = seal.open(place, sealed)
        if (!isPasswordHash(password)) {
          const hash = seal.seal(place, await hashPassword(password))
          await store.write((tx) => replaceSecret(tx, contact, POINTER, hash))
        }
        return true
      })
    },
  }
}
