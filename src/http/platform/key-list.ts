// The keys that channels use, each once. Of every channel's keys only fingerprint and end are kept, in memory, for as long
// as the channel stays as it is; so a page opens the keys that it shows and no others. The first list after a start opens
// them all, one at a time, with other requests between them.

import { setImmediate as turn } from 'node:timers/promises'
import type { KeyInUse } from '../../contract/administration/keys.ts'
import { makePage } from '../../contract/page.ts'
import { publicPartOf } from '../../keys/key-facts.ts'
import type { Catalogue, ChannelFacts } from '../../store/catalogue.ts'
import type { View } from '../../store/channel-access.ts'
import { channelPlace, findChannels } from '../../store/channels.ts'
import type { ChannelRecord } from '../../store/channels.ts'
import { batches } from '../../store/database/batches.ts'
import { askedPage } from '../integration/paging.ts'
import type { Context } from '../context.ts'
import type { Boards } from './channel-board.ts'
import type { PlatformHandler, PlatformHandlers } from './handler.ts'
import { keyFacts } from './keys.ts'

type Side = KeyInUse['side']
type ChannelKey = { side: Side; fingerprint: string; endsAt: number }
type Key = ChannelKey & { channels: string[] }

const FIELDS = { LOCAL: 'rsaLocalKey', REMOTE: 'rsaRemoteKey' } as const
const NAMES = { LOCAL: 'rsaLocalKeyName', REMOTE: 'rsaRemoteKeyName' } as const
const SIDES = ['LOCAL', 'REMOTE'] as const
const CHANNELS_NAMED = 100
const DAY_MS = 86_400_000

export function makeKeyList(boardOf: Boards): Pick<PlatformHandlers, 'listKeys'> {
  const known = new WeakMap<ChannelFacts, readonly ChannelKey[]>()
  const lists = new WeakMap<View, { catalogue: Catalogue; keys: readonly Key[] }>()
  const listKeys: PlatformHandler<'listKeys'> = async (context, { input, user }) => {
    const asked = askedPage(context, input)
    const { view, catalogue } = await boardOf(context, user)
    let list = lists.get(view)
    if (list?.catalogue !== catalogue) {
      await learn(context, catalogue, known)
      list = { catalogue, keys: gather(view, catalogue, known) }
      lists.set(view, list)
    }
    const some = list.keys.slice(asked.offset, asked.offset + asked.size)
    return makePage(await describe(context, catalogue, some), list.keys.length, asked)
  }
  return { listKeys }
}

async function learn(
  context: Context,
  { channels }: Catalogue,
  known: WeakMap<ChannelFacts, readonly ChannelKey[]>,
): Promise<void> {
  const unknown = [...channels.values()].filter((facts) => !known.has(facts)).map(({ code }) => code)
  for (const codes of batches(unknown))
    for (const record of await findChannels(context.store.db, codes)) {
      const facts = channels.get(record.code)
      if (!facts || known.has(facts)) continue
      known.set(facts, keysOf(context, record))
      await turn()
    }
}

function keysOf(context: Context, record: ChannelRecord): ChannelKey[] {
  return SIDES.flatMap((side) => {
    const found = publicPart(context, record, side)
    return found ? { side, fingerprint: found.fingerprint, endsAt: found.validTo ?? Infinity } : []
  })
}

function publicPart({ seal }: Context, { code, secrets }: ChannelRecord, side: Side) {
  const sealed = secrets[FIELDS[side]]
  return sealed === undefined ? undefined : publicPartOf(seal.open(channelPlace(code, FIELDS[side]), sealed))
}

/** Those that end first; those without an end come last. */
function gather(
  view: View,
  { channels }: Catalogue,
  known: WeakMap<ChannelFacts, readonly ChannelKey[]>,
): Key[] {
  const found = new Map<string, Key>()
  for (const code of view.codes) {
    const facts = channels.get(code)
    for (const one of (facts && known.get(facts)) ?? []) {
      const name = `${one.side} ${one.fingerprint}`
      const key = found.get(name) ?? { ...one, channels: [] }
      key.channels.push(code)
      found.set(name, key)
    }
  }
  return [...found.values()].sort((a, b) => (a.endsAt === b.endsAt ? 0 : a.endsAt - b.endsAt))
}

async function describe(context: Context, catalogue: Catalogue, keys: readonly Key[]): Promise<KeyInUse[]> {
  const firsts = await findChannels(
    context.store.db,
    keys.flatMap(({ channels }) => channels[0] ?? []),
  )
  const records = new Map(firsts.map((record) => [record.code, record]))
  return keys.flatMap(({ side, fingerprint, endsAt, channels }) => {
    const record = records.get(channels[0] ?? '')
    const part = record && publicPart(context, record, side)
    // Changed a moment ago: the next list tells.
    if (part?.fingerprint !== fingerprint) return []
    return {
      side,
      ...keyFacts(context, part, commonName(catalogue, channels, side)),
      ...(endsAt !== Infinity && { daysLeft: Math.floor((endsAt - context.now()) / DAY_MS) }),
      channels: channels.slice(0, CHANNELS_NAMED),
      channelCount: channels.length,
    }
  })
}

/** Its label, where the channels that are named agree. */
function commonName({ channels: all }: Catalogue, codes: readonly string[], side: Side): string | undefined {
  const [name, ...others] = new Set(
    codes.slice(0, CHANNELS_NAMED).map((code) => all.get(code)?.config.security?.[NAMES[side]]),
  )
  return others.length === 0 ? name : undefined
}
