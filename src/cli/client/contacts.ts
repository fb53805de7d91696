// `esclusa contacts`: the partners. People's data is shown only where JSON is asked for.

import { collect, pages } from '../../../sdk/index.ts'
import type { Contact } from '../../../sdk/index.ts'
import { withNode } from './connect.ts'
import type { ClientFlags } from './connect.ts'
import { remarkPage, sayJson, sayTable } from '../print.ts'

export type ListFlags = ClientFlags & { page: number; size: number; all?: boolean }

export async function contacts(options: ListFlags & { contact?: string }): Promise<void> {
  const { page, size, contact } = options
  const filter = contact === undefined ? {} : { contactId: contact }
  await withNode(options, async (client) => {
    if (options.all) {
      const all = await collect(pages(client.listContacts, filter))
      return options.json ? sayJson(all) : sayContacts(all)
    }
    const answer = await client.listContacts({ ...filter, page, size })
    if (options.json) return sayJson(answer)
    sayContacts(answer.content)
    remarkPage(answer)
  })
}

function sayContacts(all: readonly Contact[]): void {
  const rows = all.map(({ id, name, version, os, channels, remoteCodes, remoteIPs }) => ({
    ID: id,
    NAME: name,
    VERSION: version,
    OS: os,
    CODES: (remoteCodes ?? []).map(({ code }) => code).join(', '),
    ADDRESSES: (remoteIPs ?? [])
      .map(({ ipAddress, port }) => (port === undefined ? ipAddress : `${ipAddress} ${port}`))
      .join(', '),
    CHANNELS: channels?.length,
  }))
  sayTable(rows, 'there is no contact')
}
