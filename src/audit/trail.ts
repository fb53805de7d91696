// Writes entries of the trail, always inside the transaction of what they tell: either both are there or neither.

import type { AuditAction, AuditChange, AuditOutcome, AuditSubject, AuditVia } from '../contract/audit.ts'
import type { KeyRing } from '../domain/key-ring.ts'
import { insertAudit } from '../store/audit.ts'
import type { AuditRecord } from '../store/audit.ts'
import { newId } from '../store/database/ids.ts'
import type { Tx } from '../store/database/store.ts'
import { textOf } from './chain.ts'
import { changesOf } from './changes.ts'
import { makeAuditKeys } from './keys.ts'
import type { AuditKeys } from './keys.ts'

/** Who acts, and from where. */
export type Actor = {
  who: string | null
  via: AuditVia
  tokenId?: string | null | undefined
  address: string | null
}

export type AuditNote = {
  action: AuditAction
  outcome?: AuditOutcome
  subject?: { kind: AuditSubject; name: string } | undefined
  channelCode?: string | undefined
  note?: string | undefined
  changes?: readonly AuditChange[] | undefined
  facts?: Record<string, unknown> | undefined
}

export type AuditTrail = {
  readonly keys: AuditKeys
  /** Ids of the entries, in the order given. */
  add(tx: Tx, actor: Actor, notes: readonly AuditNote[]): Promise<string[]>
  /** What changed between two states; the pointers say what is shown by its fingerprint alone. */
  changes(before: unknown, after: unknown, hidden?: readonly string[]): AuditChange[]
}

/** The node itself, when nobody asked. */
export const BY_ITSELF: Actor = { who: null, via: 'NODE', address: null }

export function makeAuditTrail(masterKey: string | KeyRing, node: string, now: () => number): AuditTrail {
  const keys = makeAuditKeys(masterKey)
  return {
    keys,
    add: async (tx, actor, notes) => {
      const records = notes.map((note) => recordOf(keys, node, now(), actor, note))
      await insertAudit(tx, records)
      return records.map(({ id }) => id)
    },
    changes: (before, after, hidden = []) =>
      changesOf(before, after, { fingerprint: keys.fingerprint, hidden }),
  }
}

function recordOf(keys: AuditKeys, node: string, at: number, actor: Actor, note: AuditNote): AuditRecord {
  const { note: words, changes, facts } = note
  const detail = {
    ...(words !== undefined && { note: words }),
    ...(changes?.length && { changes }),
    ...(facts && { facts }),
  }
  const said = {
    id: newId(at),
    at,
    node,
    who: actor.who,
    via: actor.via,
    tokenId: actor.tokenId ?? null,
    address: actor.address,
    action: note.action,
    outcome: note.outcome ?? ('DONE' as const),
    subjectKind: note.subject?.kind ?? null,
    subject: note.subject?.name ?? null,
    channelCode: note.channelCode ?? null,
    detail: JSON.stringify(detail),
  }
  return { ...said, mac: keys.mac(textOf(said)), seq: null, hash: null }
}
