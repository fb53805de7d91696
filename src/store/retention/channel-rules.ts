// How long each channel's transfers and history are kept, where the channel says it.

import type { Db } from '../database/store.ts'

export type ChannelRule = {
  code: string
  transfersDays?: number | undefined
  historyDays?: number | undefined
}

/** In the order of their codes, after the one given. */
export async function channelRules(db: Db, after: string, limit: number): Promise<ChannelRule[]> {
  const rows = await db
    .selectFrom('channel')
    .select(['code', 'keep'])
    .where('code', '>', after)
    .orderBy('code')
    .limit(limit)
    .execute()
  return rows.map(({ code, keep }) => ({
    code,
    ...(keep !== null && (JSON.parse(keep) as Omit<ChannelRule, 'code'>)), // written by the store alone
  }))
}
