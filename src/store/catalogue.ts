// What lists show and search of every channel, kept in memory. One tiny read tells whether it is still right: a change
// of a channel makes one version grow, one added or removed another. Then only the channels that changed are read again.

import type { Channel } from '../contract/channel.ts'
import { findChannels } from './channels.ts'
import type { ChannelRecord } from './channels.ts'
import { hot } from './database/prepared-queries.ts'
import type { Db } from './database/open.ts'

export type ChannelFacts = {
  code: string
  id: string
  revision: number
  contactId: string
  contactName: string | undefined
  /** Without secrets. */
  config: Channel
  /** Lower case: what a search looks into. */
  text: string
}

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
  const contactNames = await readContactNames(db)
  const current = await db.selectFrom('channel').select(['code', 'id', 'revision']).execute()
  const channels = new Map<string, ChannelFacts>()
  const changed: string[] = []
  for (const { code, id, revision } of current) {
    const known = before.channels.get(code)
    const same =
      known?.id === id &&
      known.revision === revision &&
      known.contactName === contactNames.get(known.contactId)
    if (same) channels.set(code, known)
    else changed.push(code)
  }
  for (const channel of await findChannels(db, changed))
    channels.set(channel.code, factsOf(channel, contactNames.get(channel.contactId)))
  return { version, channels, contactNames }
}

async function readContactNames(db: Db): Promise<Map<string, string>> {
  const rows = await db.selectFrom('contact').select(['id', 'data']).execute()
  return new Map(
    rows.flatMap(({ id, data }): [string, string][] => {
      const { name } = JSON.parse(data) as { name?: string } // written by putContact alone
      return name === undefined ? [] : [[id, name]]
    }),
  )
}

function factsOf(channel: ChannelRecord, contactName: string | undefined): ChannelFacts {
  const { code, id, revision, contactId, config } = channel
  const words = [
    code,
    config.name,
    config.category,
    config.localEntity,
    config.remoteEntity,
    contactId,
    contactName,
  ]
  const text = words
    .filter((word) => word !== undefined)
    .join('\n')
    .toLowerCase()
  return { code, id, revision, contactId, contactName, config, text }
}
