// Removes what emissions that nobody goes on with have left at a partner's end that must be called: after a reset, and
// before the first emission to that place since the start, because earlier versions left more. Whether it succeeds
// matters to no transfer.

import { applicationOf } from '../../domain/channel.ts'
import { channelsOfContact } from '../../store/channels.ts'
import { leftBehind } from '../../store/transfers/left-behind.ts'
import type { EngineContext } from '../engine-context.ts'
import type { TransferPlan } from '../transfer-plan.ts'
import type { Leftover, Session } from '../transports/transport.ts'

const swept = new WeakMap<EngineContext, Set<string>>()

export async function sweepOnce(context: EngineContext, plan: TransferPlan, session: Session): Promise<void> {
  const known = swept.get(context) ?? new Set()
  swept.set(context, known)
  const place = JSON.stringify([plan.contact.id, plan.application])
  if (!session.discard || known.has(place)) return
  known.add(place)
  await discard(context, plan, session)
}

export async function discard(context: EngineContext, plan: TransferPlan, session: Session): Promise<void> {
  const find = async (): Promise<Leftover[]> => {
    const channels = await channelsOfContact(context.store.db, plan.contact.id)
    const applications = new Map(channels.map((channel) => [channel.code, applicationOf(channel)]))
    const left = await leftBehind(context.store.db, [...applications.keys()])
    return left.map(({ channelCode, name, key }) => ({
      application: applications.get(channelCode) ?? '',
      name,
      key,
    }))
  }
  await session
    .discard?.(plan.application, find)
    .catch((thrown: unknown) =>
      context.log.info({ err: thrown, contact: plan.contact.id }, 'the partner’s inbox could not be swept'),
    )
}
