// `esclusa expectations`: what is due on a day, and what became of it.

import type { ExpectedDay } from '../../../sdk/index.ts'
import { remark, say, sayJson, sayTable, when } from '../print.ts'
import { withNode } from './connect.ts'
import type { ClientFlags } from './connect.ts'

export type ExpectationFlags = ClientFlags & { day?: string; state?: string; channel?: string }

export async function expectations(options: ExpectationFlags): Promise<void> {
  const { day, state, channel } = options
  await withNode(options, async ({ platform }) => {
    const answer = await platform.listExpectations({
      ...(day !== undefined && { day }),
      ...(state !== undefined && { state: state as ExpectedDay['state'] }), // the node says which there are
      ...(channel !== undefined && { channelCode: channel }),
    })
    if (options.json) return sayJson(answer)
    sayTable(answer.content.map(rowOf), `nothing is expected on ${answer.day}`)
    const counts = Object.entries(answer.byState).filter(([, count]) => count > 0)
    if (counts.length > 0)
      remark(`${answer.day}: ${counts.map(([name, count]) => `${count} ${name}`).join(', ')}`)
  })
}

function rowOf(one: ExpectedDay) {
  return {
    EXPECTATION: one.expectation,
    DAY: one.day,
    STATE: one.state,
    FILES: `${one.count}/${one.atLeast}`,
    CHANNEL: one.channelCode,
    DIRECTION: one.direction,
    FROM: when(one.from),
    BY: when(one.by),
    ACKNOWLEDGED: one.acknowledgedBy,
    COMMENT: one.comment,
  }
}

export async function acknowledge(
  expectationId: string,
  day: string,
  options: ClientFlags & { comment?: string },
): Promise<void> {
  const { comment } = options
  await withNode(options, async ({ platform }) => {
    const body = comment === undefined ? {} : { comment }
    const answer = await platform.acknowledgeExpectation({ expectationId, day, body })
    if (options.json) return sayJson(answer)
    say(
      `${answer.expectation} of ${answer.day} (${answer.state}) is acknowledged by ${answer.acknowledgedBy ?? ''}`,
    )
  })
}
