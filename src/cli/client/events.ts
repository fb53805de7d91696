// `esclusa events`: what happened.

import type { NodeEvent } from '../../../sdk/index.ts'
import { remark, sayJson, sayTable, when } from '../print.ts'
import { withNode } from './connect.ts'
import type { ClientFlags } from './connect.ts'

export type EventFlags = ClientFlags & { type?: string; channel?: string; after?: string; size: number }

export async function events(options: EventFlags): Promise<void> {
  const { type, channel, after, size } = options
  await withNode(options, async ({ platform }) => {
    const answer = await platform.listEvents({
      ...(type !== undefined && { type }),
      ...(channel !== undefined && { channelCode: channel }),
      ...(after !== undefined && { after }),
      size,
    })
    if (options.json) return sayJson(answer)
    sayTable(answer.content.map(rowOf), 'there is no such event')
    if (answer.next !== undefined && after !== undefined) remark(`more follow: --after ${answer.next}`)
  })
}

export function rowOf({ id, type, timestamp, channel, contact, data }: NodeEvent) {
  return {
    ID: id,
    WHEN: when(timestamp),
    TYPE: type,
    CHANNEL: channel,
    CONTACT: contact,
    WHAT: wordsOf(data),
  }
}

/** The one field that says most. */
function wordsOf(data: Record<string, unknown>): string | undefined {
  const said = ['error', 'reason', 'expectation', 'fileName', 'transferId', 'node', 'subscription', 'detail']
    .map((name) => data[name])
    .find((value) => value !== undefined)
  return said === undefined ? undefined : String(said)
}
