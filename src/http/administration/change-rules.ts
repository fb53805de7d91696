// What a change through the node may not do, whoever asks for it and by whichever operation: one user, or a whole
// platform file. Nobody locks the last administrator out, and nobody gives what they do not have: a ROLE_ADMIN neither
// makes nor touches a ROLE_GLOBALADMIN. And nobody far away makes the node read and write folders that are not for files.
// The command line has none of these rules.

import type { PlatformUser } from '../../contract/administration/platform-file.ts'
import { NodeError } from '../../errors.ts'
import type { ChangePlan, Changes, Present } from '../../platform/plan.ts'
import { confined } from '../../files/roots.ts'
import type { Account, NewAccount } from '../../store/accounts.ts'
import type { ContactRecord } from '../../store/contacts.ts'

export type Asking = { user: Account; fileRoots: readonly string[] }

export function requireAllowed({ user, fileRoots }: Asking, present: Present, plan: ChangePlan): void {
  requireAccountRules(user, present.accounts, plan.accounts)
  requireFoldersInside(fileRoots, present.contacts, plan.contacts)
}

export function requireGlobal(user: Pick<Account, 'role'>, role: string): void {
  if (role === 'ROLE_GLOBALADMIN' && user.role !== 'ROLE_GLOBALADMIN')
    throw new NodeError('forbidden', 'only a ROLE_GLOBALADMIN makes or changes a ROLE_GLOBALADMIN')
}

/**
 * To be asked before passwords are hashed or compared: otherwise a ROLE_ADMIN could try passwords of a ROLE_GLOBALADMIN
 * as often as they like. One that fits changes nothing, so the plan does not show it, and takes less time than another.
 */
export function requireNoPasswords(
  user: Account,
  accounts: readonly Account[],
  wanted: readonly PlatformUser[],
): void {
  const roles = new Map(accounts.map(({ username, role }) => [username, role]))
  for (const { username, password } of wanted)
    if (password !== undefined) requireGlobal(user, roles.get(username) ?? '')
}

function requireAccountRules(user: Account, before: readonly Account[], changes: Changes<NewAccount>): void {
  const known = new Map(before.map((account) => [account.username, account]))
  const after = changes.changed.map((one) => one.after)
  const touched = [...changes.added, ...after, ...changes.removed]
  const roles = [...touched, ...after.flatMap(({ username }) => known.get(username) ?? [])]
  for (const { role } of roles) requireGlobal(user, role)
  requireGlobalLeft(before, changes)
  const self = after.find(({ username }) => username === user.username)
  if (self && (self.disabled || self.role !== known.get(user.username)?.role))
    throw new NodeError('conflict', 'you cannot disable yourself or give yourself another role')
  if (changes.removed.some(({ username }) => username === user.username))
    throw new NodeError('conflict', 'you cannot remove yourself')
}

/** Without one that can sign in nobody could ever make one again from outside. */
function requireGlobalLeft(before: readonly Account[], changes: Changes<NewAccount>): void {
  const isGlobal = ({ role, disabled }: NewAccount) => role === 'ROLE_GLOBALADMIN' && !disabled
  const after = changes.changed.map((one) => one.after)
  const gone = new Set([...after, ...changes.removed].map(({ username }) => username))
  const lost = before.filter((one) => isGlobal(one) && gone.has(one.username))
  const left = [...before.filter(({ username }) => !gone.has(username)), ...changes.added, ...after]
  if (lost.length === 0 || left.some(isGlobal)) return
  const names = lost.map(({ username }) => username).join(', ')
  const are = lost.length === 1 ? 'is the only ROLE_GLOBALADMIN' : 'are the only ROLE_GLOBALADMINs'
  throw new NodeError('conflict', `${names} ${are}: make another one first`)
}

/** Elsewhere on the machine the operator alone lets a partner in. A folder that stays as it is was let in before. */
function requireFoldersInside(
  fileRoots: readonly string[],
  before: readonly ContactRecord[],
  changes: Changes<ContactRecord>,
): void {
  const known = new Map(before.map(({ id, settings }) => [id, settings.folder]))
  for (const { id, settings } of [...changes.added, ...changes.changed.map(({ after }) => after)])
    for (const name of ['inbox', 'outbox'] as const) {
      const path = settings.folder?.[name]
      if (path === undefined || path === known.get(id)?.[name]) continue
      if (confined(path, fileRoots) === undefined)
        throw new NodeError(
          'bad_request',
          `/folder/${name} of contact ${id} must lie inside one of ESCLUSA_FILE_ROOTS; the operator can set another with esclusa apply`,
        )
    }
}
