// The keys that channels use, each once. Of every channel's keys fingerprint and end are kept in memory, for as long as the
// channel stays as it is; they come from the database, so a page opens the keys that it shows and no others.

import { DAY_MS } from '../../domain/time.ts'
import type { KeyInUse } from '../../contract/administration/keys.ts'
import { makePage } from '../../contract/page.ts'
import { publicPartOf } from '../../keys/key-facts.ts'
import { keysOfChannels, knownKeys, openKey } from '../../keys/known-keys.ts'
import type { Catalogue, ChannelFacts } from '../../store/catalogue.ts'
import type { View } from '../../store/channel-access.ts'
import { findChannels } from '../../store/channels.ts'
import type { KnownKey } from '../../store/keys/known-keys.ts'
import { askedPage } from '../integration/paging.ts'
import type { Context } from '../context.ts'
import type { Board, Boards } from './channel-board.ts'
import type { PlatformHandler, PlatformHandlers } from './handler.ts'
import { keyFacts, unreadableFacts } from './keys.ts'

type Side = KeyInUse['side']
type ChannelKey = { side: Side; fingerprint: string; endsAt: number; unreadable?: string }
type Known = WeakMap<ChannelFacts, readonly ChannelKey[]>
type Key = ChannelKey & { channels: string[] }

const NAMES = { LOCAL: 'rsaLocalKeyName', REMOTE: 'rsaRemoteKeyName' } as const
const CHANNELS_NAMED = 100

export type KeyList = {
  handlers: Pick<PlatformHandlers, 'listKeys'>
  /** Reads what is known of keys before somebody waits for it; it opens none. */
  prepare(context: Context, board: Pick<Board, 'view' | 'catalogue'>): Promise<void>
}

export function makeKeyList(boardOf: Boards): KeyList {
  let preparing: Promise<void> | undefined
  const known: Known = new WeakMap()
  const lists = new WeakMap<View, { catalogue: Catalogue; keys: readonly Key[] }>()
  const listKeys: PlatformHandler<'listKeys'> = async (context, { input, user }) => {
    const asked = askedPage(context, input)
    const { view, catalogue } = await boardOf(context, user)
    await preparing?.catch(() => {}) // it is told where it was asked for; here the rest is read
    let list = lists.get(view)
    if (list?.catalogue !== catalogue) {
      await learn(context, catalogue, known)
      list = { catalogue, keys: gather(view, catalogue, known) }
      lists.set(view, list)
    }
    const some = list.keys.slice(asked.offset, asked.offset + asked.size)
    return makePage(await describe(context, catalogue, some), list.keys.length, asked)
  }
  return {
    handlers: { listKeys },
    prepare: (context, { view, catalogue }) =>
      (preparing = recall(context, catalogue, known).then((isAll) => {
        if (isAll) lists.set(view, { catalogue, keys: gather(view, catalogue, known) })
      })),
  }
}

/** Whether something was known of every channel. */
async function recall({ store }: Context, { channels }: Catalogue, known: Known): Promise<boolean> {
  let count = 0
  for await (const some of knownKeys(store.db))
    for (const { code, id, revision, keys } of some) {
      const facts = channels.get(code)
      if (facts?.id !== id || facts.revision !== revision) continue
      known.set(facts, listed(keys))
      count++
    }
  return count === channels.size
}

async function learn(context: Context, { channels }: Catalogue, known: Known): Promise<void> {
  const unknown = [...channels.values()].filter((facts) => !known.has(facts))
  const found = await keysOfChannels(context, unknown)
  for (const facts of unknown) known.set(facts, listed(found.get(facts.code) ?? []))
}

function listed(keys: readonly KnownKey[]): ChannelKey[] {
  return keys.flatMap(({ side, fingerprint, endsAt = Infinity, isBehind, unreadable }) => {
    if (unreadable !== undefined) return { side, fingerprint, endsAt: -Infinity, unreadable }
    return isBehind ? [] : { side, fingerprint, endsAt }
  })
}

/** Those that cannot be read, as one of each side, then those that end first; those without an end come last. */
function gather(view: View, { channels }: Catalogue, known: Known): Key[] {
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
  return keys.flatMap((key) => {
    const { side, fingerprint, endsAt, channels, unreadable } = key
    const shown = {
      side,
      ...(Number.isFinite(endsAt) && { daysLeft: Math.floor((endsAt - context.now()) / DAY_MS) }),
      channels: channels.slice(0, CHANNELS_NAMED),
      channelCount: channels.length,
    }
    const [first = ''] = channels
    const record = records.get(first)
    const opened = unreadable === undefined ? record && openKey(context.seal, record, side) : { unreadable }
    if (opened && 'unreadable' in opened) return { ...shown, ...unreadableFacts(opened, fingerprint) }
    const part = opened && publicPartOf(opened.pem)
    // Changed a moment ago: the next list tells.
    if (part?.fingerprint !== fingerprint) return []
    return { ...shown, ...keyFacts(context, part, commonName(catalogue, channels, side)) }
  })
}

/** Its label, where the channels that are named agree. */
function commonName({ channels: all }: Catalogue, codes: readonly string[], side: Side): string | undefined {
  const [name, ...others] = new Set(
    codes.slice(0, CHANNELS_NAMED).map((code) => all.get(code)?.config.security?.[NAMES[side]]),
  )
  return others.length === 0 ? name : undefined
}
