// The partner is on the line and it is this node's turn: what waits for it is claimed and sent through its session.

import { NodeError } from '../../errors.ts'
import { claimForChannels } from '../../store/transfers/claims.ts'
import { letGo } from '../../store/transfers/leases.ts'
import type { Claim } from '../../store/transfers/claims.ts'
import type { Held } from '../../store/transfers/leases.ts'
import type { EngineContext } from '../engine-context.ts'
import type { Session } from '../transports/transport.ts'
import { openChannelsOf } from './reach.ts'

/** Runs claims and keeps their leases; the dispatcher is one. */
export type Launcher = {
  launch(claim: Claim, given: Session): Promise<void>
  hold(held: Held): AbortSignal
  release(held: Held): void
  /** A reset was written: stops the run, or clears up where nobody runs it. */
  cancel(transferId: string): void
  wake(): void
}

/** More than this is left for the partner's next call. */
const CLAIMS_PER_TURN = 1000

/** Everything that waits on the channels this session reaches goes now, one transfer after the other. */
export async function handOver(context: EngineContext, launcher: Launcher, session: Session): Promise<void> {
  const now = context.now()
  const holder = { owner: context.owner, now, until: now + context.leaseMs }
  const codes = (await openChannelsOf(context, session.reach)).map(({ code }) => code)
  const claims = await claimForChannels(context.store, holder, codes, CLAIMS_PER_TURN)
  // The last ones may wait long for the first: their leases are kept meanwhile.
  const waiting = claims.map((claim) => {
    const held: Held = { id: claim.transfer.id, fence: claim.transfer.fence }
    return { claim, held, stopped: launcher.hold(held) }
  })
  const left: Held[] = []
  for (const { claim, held, stopped } of waiting) {
    if (wasReset(stopped)) {
      // Nobody has begun it who would clear up.
      launcher.release(held)
      launcher.cancel(held.id)
    } else if (session.ended.aborted || context.stopping.aborted) {
      launcher.release(held)
      left.push(held)
    } else await launcher.launch(claim, session)
  }
  if (left.length > 0) await giveBack(context, left)
}

function wasReset({ reason }: AbortSignal): boolean {
  return reason instanceof NodeError && reason.code === 'cancelled'
}

/** They wait for what they waited for. All of them are released by now: where this fails, the dispatcher lets them go. */
async function giveBack({ store, log }: EngineContext, left: readonly Held[]): Promise<void> {
  try {
    await store.write((tx) => letGo(tx, left))
  } catch (thrown) {
    log.warn(
      { err: thrown, transfers: left.length },
      'what the partner’s call had no time for could not be given back; it is let go when its lease is over',
    )
  }
}
