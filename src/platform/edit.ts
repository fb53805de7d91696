// One thing of the platform made, changed or removed: the same rules, the same comparison, the same transaction as for
// a whole file, and the same words about what is wrong. Also what either of them may refer to.

import type { Actor, AuditTrail } from '../audit/trail.ts'
import type { Platform } from '../contract/administration/platform-file.ts'
import type { Roots } from '../domain/channel-rules.ts'
import { NodeError } from '../errors.ts'
import { listAccounts } from '../store/accounts.ts'
import { someChannels } from '../store/channel-batches.ts'
import type { SomeChannels } from '../store/channel-batches.ts'
import { findContacts, listContacts, listLocalEntities } from '../store/contacts.ts'
import type { Db, Store } from '../store/database/store.ts'
import { listCalendars } from '../store/expectations/calendars.ts'
import type { Seal } from '../store/seal.ts'
import { applyPlatform } from './apply.ts'
import type { ApplyOptions } from './apply.ts'
import type { Applied, ChangePlan, Present, Removals } from './plan.ts'
import { carrierOf } from './protocol-rules.ts'
import { NOTHING_KNOWN, platformFindings } from './rules.ts'
import type { Known, KnownContact } from './rules.ts'

export type Editing = {
  store: Store
  seal: Seal
  roots: Roots
  trail: AuditTrail
  actor: Actor
  now: number
}

export type Edit = {
  put?: Platform
  remove?: Removals
  /** The channels it may concern; all of them where it is left out. */
  onlyChannels?: SomeChannels
  /** Looked at before any password is hashed or compared; throws what forbids it. May ask for accounts alone. */
  forbidFirst?: (present: Present) => void
  /** Looked at in the transaction, before anything is written; throws what forbids it. */
  forbid?: (present: Present, plan: ChangePlan) => void
  dryRun?: boolean
}

export type Edited = Applied & { warnings: string[] }

export async function editPlatform(editing: Editing, edit: Edit): Promise<Edited> {
  const { store, seal, roots, trail, actor, now } = editing
  const { put = {}, remove, onlyChannels, forbidFirst, forbid, dryRun } = edit
  // Expectations alone refer to channels, and channels alone to contacts.
  const named = {
    channels: (put.expectations ?? []).map(({ channel }) => channel),
    contacts: (put.channels ?? []).map(({ contact }) => contact),
  }
  const { faults, warnings } = platformFindings(put, roots, await readKnown(store.db, false, named))
  if (faults.length > 0)
    throw new NodeError(
      'bad_request',
      faults.map(({ pointer, message }) => `${inBody(pointer)} ${message}`).join('; '),
    )
  const options: ApplyOptions = {
    now,
    remove,
    onlyChannels,
    keepPeople: true,
    newPasswords: true,
    dryRun,
    forbidFirst,
    forbid: (present, plan) => {
      forbid?.(present, plan)
      requireUnused(present, remove)
    },
    audit: { trail, actor, isFile: false },
  }
  const applied = await applyPlatform(store, seal, put, options).catch(toConflict)
  return { ...applied, warnings: warnings.map(({ pointer, message }) => `${inBody(pointer)} ${message}`) }
}

/** The request's body is one thing; the rules see it as the first of its list. */
function inBody(pointer: string): string {
  return pointer.replace(/^\/\w+\/\d+/, '') || 'the body'
}

/** What only the change and the database together can tell is no fault of the request's form. */
function toConflict(thrown: unknown): never {
  if (thrown instanceof NodeError && thrown.code === 'bad_use')
    throw new NodeError(
      'conflict',
      thrown.message.replace(/^nothing was changed:\n/, '').replaceAll('\n', '; '),
      {
        cause: thrown,
      },
    )
  throw thrown
}

const NAMED = 5

function requireUnused({ channels }: Present, remove: Removals = {}): void {
  const inUse = (what: string, name: string, codes: readonly string[]) => {
    if (codes.length === 0) return
    const more = codes.length > NAMED ? ` and ${codes.length - NAMED} more` : ''
    throw new NodeError(
      'conflict',
      `${what} ${name} has channels: remove ${codes.slice(0, NAMED).join(', ')}${more} first`,
    )
  }
  const stay = channels.filter(({ code }) => !remove.channels?.includes(code))
  for (const id of remove.contacts ?? [])
    inUse(
      'contact',
      id,
      stay.filter(({ contactId }) => contactId === id).map(({ code }) => code),
    )
  for (const code of remove.entities ?? [])
    inUse(
      'local entity',
      code,
      stay.filter(({ localCode }) => localCode === code).map(({ code }) => code),
    )
}

/**
 * What a file may refer to without describing it. With prune there is nothing of the kind. Whoever knows which channels
 * and contacts can be referred to names them: reading all of many thousands holds up everybody else.
 */
export async function readKnown(
  db: Db,
  prune: boolean,
  only: { channels?: readonly string[]; contacts?: readonly string[] } = {},
): Promise<Known> {
  const usernames = new Set((await listAccounts(db)).map((account) => account.username))
  if (prune) return { ...NOTHING_KNOWN, usernames }
  const found = only.contacts ? findContacts(db, only.contacts) : listContacts(db)
  const contacts = (await found).map(({ id, protocol, data, settings }): [string, KnownContact] => [
    id,
    {
      ...carrierOf(protocol, settings),
      remoteCodes: (data.remoteCodes ?? []).flatMap(({ code }) => code ?? []),
    },
  ])
  const entities = await listLocalEntities(db)
  return {
    usernames,
    entityCodes: new Set(entities.map(({ code }) => code)),
    entityRoots: new Map(entities.flatMap(({ code, fileRoots }) => (fileRoots ? [[code, fileRoots]] : []))),
    contacts: new Map(contacts),
    calendars: new Set((await listCalendars(db)).map(({ id }) => id)),
    channels: new Map(
      (await someChannels(db, only.channels)).map(({ code, config }) => [code, config.direction]),
    ),
  }
}
