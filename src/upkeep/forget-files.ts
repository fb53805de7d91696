// The age rule of the two memories of files: what was sent, and what came in. They go with the transfers of their time,
// except that a file which still lies in an outbound directory is never forgotten: it would be sent again.

import type { Config } from '../config.ts'
import { outboundNames } from '../files/send-set.ts'
import type { Log } from '../log.ts'
import { findChannel } from '../store/channels.ts'
import type { Store } from '../store/database/store.ts'
import type { ChannelRule } from '../store/retention/channel-rules.ts'
import { forgetReceived, forgetSent, oldSent, stampMemories } from '../store/retention/old-memories.ts'
import type { OldSent } from '../store/retention/old-memories.ts'
import type { Pieces } from './upkeep.ts'

type Parts = { store: Store; config: Pick<Config, 'fileRoots'>; log: Log; now: () => number }

const ROWS_AT_ONCE = 50

export async function forgetFiles(
  { store, config, log, now }: Parts,
  { code }: ChannelRule,
  before: number | undefined,
  pieces: Pieces,
): Promise<void> {
  if (before === undefined) return
  await store.write((tx) => stampMemories(tx, code, now()))
  await pieces(() => store.write((tx) => forgetReceived(tx, code, before, ROWS_AT_ONCE)))
  if ((await oldSent(store.db, code, before, 1)).length === 0) return
  const channel = await findChannel(store.db, code)
  if (!channel) return
  let lying: ReadonlySet<string>
  try {
    lying = await outboundNames(channel.config, config.fileRoots)
  } catch (thrown) {
    // What cannot be looked at may hold anything.
    log.warn(
      { err: thrown, channel: code },
      'what was sent is remembered: an outbound directory cannot be read',
    )
    return
  }
  let after: OldSent | undefined
  await pieces(async () => {
    const some = await oldSent(store.db, code, before, ROWS_AT_ONCE, after)
    await store.write((tx) =>
      forgetSent(
        tx,
        code,
        some.filter(({ name }) => !lying.has(name)),
      ),
    )
    after = some.at(-1)
    return some.length === ROWS_AT_ONCE
  })
}
