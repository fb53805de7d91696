// What lists show and search of every channel, kept in memory. One small read tells whether it is still right: two
// version numbers, one for changed channels, one for channels added or removed. Only changed channels are read again.

import { isDeepStrictEqual } from 'node:util'
import type { Channel } from '../contract/channel.ts'
import type { Contact } from '../contract/contact.ts'
import { parseCode } from '../domain/channel.ts'
import { listLocalEntities } from './contacts.ts'
import { configOf } from './channels.ts'
import { batches } from './database/batches.ts'
import { hot } from './database/prepared-queries.ts'
import type { Db } from './database/store.ts'

export type ChannelFacts = {
  code: string
  id: string
  revision: number
  contactId: string
  names: Names
  /** Without secrets. */
  config: Channel
  /** Whose working days it is open on. */
  calendar: string | null | undefined
  /** The text that a search looks into, in lower case. */
  text: string
}

/** Names: of the local entity, of the partner, and of the partner under its remote code. */
export type Names = { local?: string | undefined; contact?: string | undefined; remote?: string | undefined }

export type Catalogue = {
  version: string
  channels: ReadonlyMap<string, ChannelFacts>
  contactNames: ReadonlyMap<string, string>
}

const versions = hot<object, { name: string; value: string }>((db) =>
  db
    .selectFrom('meta')
    .select(['name', 'value'])
    .where('name', 'in', ['channels_version', 'directory_version'])
    .orderBy('name'),
)

export function makeCatalogue(): (db: Db) => Promise<Catalogue> {
  let kept: Catalogue = { version: '', channels: new Map(), contactNames: new Map() }
  return async (db) => {
    const version = (await versions(db, {})).map(({ value }) => value).join('/')
    if (kept.version !== version) kept = await reload(db, kept, version)
    return kept
  }
}

async function reload(db: Db, before: Catalogue, version: string): Promise<Catalogue> {
  const { contactNames, namesOf } = await readNames(db)
  const current = await db.selectFrom('channel').select(['code', 'id', 'revision', 'contact_id']).execute()
  const channels = new Map<string, ChannelFacts>()
  const changed: string[] = []
  for (const { code, id, revision, contact_id: contactId } of current) {
    const known = before.channels.get(code)
    const same =
      known?.id === id &&
      known.revision === revision &&
      isDeepStrictEqual(known.names, namesOf(code, contactId))
    if (same) channels.set(code, known)
    else changed.push(code)
  }
  for (const some of batches(changed))
    for (const row of await shownColumns(db, some))
      channels.set(row.code, factsOf(row, namesOf(row.code, row.contact_id)))
  return { version, channels, contactNames }
}

/** Without the keys: sealed they are longer than all the rest, and ten thousand channels have many. */
function shownColumns(db: Db, codes: readonly string[]) {
  return db
    .selectFrom('channel')
    .select(['code', 'id', 'revision', 'contact_id', 'config', 'calendar'])
    .where('code', 'in', codes)
    .execute()
}

type Row = Awaited<ReturnType<typeof shownColumns>>[number]

async function readNames(db: Db) {
  const entities = await listLocalEntities(db)
  const local = new Map(entities.map(({ code, name }) => [code, name]))
  const contactNames = new Map<string, string>()
  const remote = new Map<string, string>()
  for (const { id, data } of await db.selectFrom('contact').select(['id', 'data']).execute()) {
    const { name, remoteCodes = [] } = JSON.parse(data) as Contact // written by putContact alone
    if (name !== undefined) contactNames.set(id, name)
    for (const one of remoteCodes) if (one.code && one.name) remote.set(one.code, one.name)
  }
  const namesOf = (code: string, contactId: string): Names => {
    const { localCode = '', remoteCode = '' } = parseCode(code) ?? {}
    return {
      local: local.get(localCode),
      contact: contactNames.get(contactId),
      remote: remote.get(remoteCode),
    }
  }
  return { contactNames, namesOf }
}

function factsOf(row: Row, names: Names): ChannelFacts {
  const { code, id, revision, contact_id: contactId, calendar } = row
  const config = configOf(row)
  const words = [code, config.name, config.category, contactId, names.local, names.remote, names.contact]
  const text = words
    .filter((word) => word !== undefined)
    .join('\n')
    .toLowerCase()
  return { code, id, revision, contactId, names, config, calendar, text }
}
