// Operation 17: the only place that shows contact persons' data.

import { makePage } from '../../contract/page.ts'
import { findContacts } from '../../store/contacts.ts'
import type { Handler } from '../context.ts'
import { askedPage } from './paging.ts'

export const listContacts: Handler<'listContacts'> = async (context, { input, user }) => {
  const asked = askedPage(context, input)
  const view = await context.channelAccess(context.store.db, user)
  const ids =
    input.contactId === undefined ? view.contactIds : view.contactIds.filter((id) => id === input.contactId)
  const contacts = await findContacts(context.store.db, ids.slice(asked.offset, asked.offset + asked.size))
  contacts.sort((a, b) => (a.id < b.id ? -1 : 1))
  const content = contacts.map(({ id, data }) => ({
    ...data,
    id,
    channels: view.codesByContact.get(id) ?? [],
  }))
  return makePage(content, ids.length, asked)
}
