// The keys of many channels without opening them: what is public of them is kept in the database. Only channels that have
// changed since are opened, a few at a time with other requests between them, and what is found is kept for the next.

import { setImmediate as turn } from 'node:timers/promises'
import { channelPlace, findChannels } from '../store/channels.ts'
import type { ChannelRecord } from '../store/channels.ts'
import { batches } from '../store/database/batches.ts'
import type { Db, Store } from '../store/database/store.ts'
import { findKnownKeys, nextKnownKeys, putKnownKeys } from '../store/keys/known-keys.ts'
import type { ChannelVersion, KeysOfVersion, KnownKey } from '../store/keys/known-keys.ts'
import type { Seal } from '../store/seal.ts'
import { chainBehind, publicPartOf } from './key-facts.ts'
import type { PublicPart } from './key-facts.ts'

const FIELDS = { LOCAL: 'rsaLocalKey', REMOTE: 'rsaRemoteKey' } as const
const SIDES = ['LOCAL', 'REMOTE'] as const

type Parts = { store: Store; seal: Seal }

/** A damaged row, or another master key, must not hide the keys of all other channels. */
export const UNREADABLE =
  'it does not open with this master key: it was sealed with another one, or was changed since'
const KEPT_AT_ONCE = 500

/** What is known already, without opening any, some at a time with other requests in between. */
export async function* knownKeys(db: Db): AsyncGenerator<readonly KeysOfVersion[]> {
  for (let after: string | undefined = ''; after !== undefined; await turn()) {
    const some: readonly KeysOfVersion[] = await nextKnownKeys(db, after, KEPT_AT_ONCE)
    yield some
    after = some.length < KEPT_AT_ONCE ? undefined : some.at(-1)?.code
  }
}

/** By code; a channel that went meanwhile is left out. */
export async function keysOfChannels(
  parts: Parts,
  channels: readonly ChannelVersion[],
): Promise<Map<string, readonly KnownKey[]>> {
  const all = new Map<string, readonly KnownKey[]>()
  for (const some of batches(channels)) {
    const known = await findKnownKeys(parts.store.db, some)
    for (const [code, keys] of known) all.set(code, keys)
    const unknown = some.filter(({ code }) => !known.has(code))
    if (unknown.length > 0)
      for (const [code, keys] of await inTurn(parts.store, () => findOut(parts, unknown))) all.set(code, keys)
    await turn()
  }
  return all
}

const last = new WeakMap<Store, Promise<unknown>>()

/** Of several that need the same keys after an upgrade one opens them; the others find what it wrote down. */
function inTurn<T>(store: Store, work: () => Promise<T>): Promise<T> {
  const mine = (last.get(store) ?? Promise.resolve()).then(work)
  last.set(
    store,
    mine.catch(() => {}),
  )
  return mine
}

async function findOut({ store, seal }: Parts, channels: readonly ChannelVersion[]) {
  const all = await findKnownKeys(store.db, channels)
  const codes = channels.map(({ code }) => code).filter((code) => !all.has(code))
  const found: KeysOfVersion[] = []
  for (const record of await findChannels(store.db, codes)) {
    const { code, id, revision } = record
    found.push({ code, id, revision, keys: keysOf(seal, record) })
    await turn()
  }
  // They are known now. If they cannot be written down (a full disk, a channel just removed), they are found out again.
  const readable = found.filter(({ keys }) => keys.every(({ unreadable }) => unreadable === undefined))
  await store.write((tx) => putKnownKeys(tx, readable)).catch(() => {})
  for (const { code, keys } of found) all.set(code, keys)
  return all
}

function keysOf(seal: Seal, record: ChannelRecord): KnownKey[] {
  return SIDES.flatMap((side) => {
    const opened = openKey(seal, record, side)
    if (opened === undefined) return []
    if ('unreadable' in opened) return { side, fingerprint: '', ...opened }
    const { pem } = opened
    const own = publicPartOf(pem)
    const behind = chainBehind(pem).flatMap((one) => publicPartOf(one) ?? [])
    return [
      ...(own ? [known(side, own)] : []),
      ...behind.map((one) => ({ ...known(side, one), isBehind: true as const })),
    ]
  })
}

/** Undefined: the channel has none. */
export function openKey(
  seal: Seal,
  { code, secrets }: ChannelRecord,
  side: KnownKey['side'],
): { pem: string } | { unreadable: string } | undefined {
  const sealed = secrets[FIELDS[side]]
  if (sealed === undefined) return undefined
  try {
    return { pem: seal.open(channelPlace(code, FIELDS[side]), sealed) }
  } catch {
    return { unreadable: UNREADABLE }
  }
}

function known(side: KnownKey['side'], { fingerprint, subject, validTo }: PublicPart): KnownKey {
  return {
    side,
    fingerprint,
    ...(subject !== undefined && { subject }),
    ...(validTo !== undefined && { endsAt: validTo }),
  }
}
