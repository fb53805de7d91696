// 403 for a change of a channel that the caller lacks the trust for: fields with a permission of their own, and folders
// of channels that are closed to the caller.

import type { Channel } from '../../contract/channel.ts'
import { missingTrust } from '../../domain/channel-trust.ts'
import { isAdministrator, mayReach } from '../../domain/user.ts'
import { NodeError } from '../../errors.ts'
import { pathsOfOthers } from '../../files/others-folders.ts'
import type { Closed } from '../../files/others-folders.ts'
import type { Account } from '../../store/accounts.ts'
import { channelsNamingUsers } from '../../store/channels.ts'
import { findContact, findContacts } from '../../store/contacts.ts'
import type { Tx } from '../../store/database/store.ts'

export type Asked = {
  user: Account
  contactId: string
  before: Channel
  after: Channel
  /** What the request itself says. */
  given: Channel
  /** Where a field of the channel stands in the request's body. */
  inBody: (pointer: string) => string
}

export async function requireTrust(tx: Tx, asked: Asked): Promise<void> {
  const { user, before, after, given, inBody } = asked
  const contact = user.auths.administration ? undefined : await findContact(tx, asked.contactId)
  const contactAddresses = (contact?.data.remoteIPs ?? []).flatMap(({ ipAddress }) => ipAddress ?? [])
  const [missing] = [
    ...missingTrust({ user, before, after, given, contactAddresses }),
    ...pathsOfOthers(before, after, await closedTo(tx, user)),
  ]
  if (!missing) return
  // A list that is the body itself has no pointer there: the field's own says which it is.
  throw new NodeError('forbidden', `${inBody(missing.pointer) || missing.pointer} ${missing.needs}`)
}

async function closedTo(tx: Tx, user: Account): Promise<Closed> {
  if (isAdministrator(user)) return { channels: [], partnerFolders: [] }
  const closed = (await channelsNamingUsers(tx)).filter(({ config }) => !mayReach(user, config.users))
  const contacts = await findContacts(tx, [...new Set(closed.map(({ contactId }) => contactId))])
  return {
    channels: closed.map(({ config }) => config),
    partnerFolders: contacts.flatMap(({ protocol, settings }) =>
      protocol === 'folder' && settings.folder ? [settings.folder] : [],
    ),
  }
}
