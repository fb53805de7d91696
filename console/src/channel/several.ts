// Several failed transfers retried or reset, one after the other, by the operations for one channel. A retry takes the
// latest failure of its channel, so each is looked at just before: one that was not chosen is never retried in its place.

import { ClientError } from '../../../sdk/index.ts'
import type { Client, FailedTransfer } from '../../../sdk/index.ts'
import type { RetryAnswer } from '../../../src/contract/platform.ts'

export type Outcome =
  /** `by` is the new transfer of a retry. */
  | { kind: 'done'; by?: string | undefined }
  | { kind: 'impossible'; why: Exclude<RetryAnswer, 'POSSIBLE'> }
  /** The node said no, or no answer came. */
  | { kind: 'thrown'; error: unknown }
  /** Stopped before it. */
  | { kind: 'untried' }

export type Result = { failure: FailedTransfer; outcome: Outcome }
export type SeveralAction = 'retry' | 'reset'

type Run = { action: SeveralAction; client: Client; stop: AbortSignal; tell(results: Result[]): void }

/** Whether it can still be dealt with: what was retried or reset is over. */
export function isOpen({ retry }: FailedTransfer): boolean {
  return retry !== 'HANDLED'
}

/** Says after each what became of those so far. What nobody answered, or a session that has ended, stops the rest. */
export async function dealWith(failures: readonly FailedTransfer[], run: Run): Promise<Result[]> {
  const one = doer(run)
  const results: Result[] = []
  let stopped = false
  for (const failure of failures) {
    stopped ||= run.stop.aborted
    const outcome: Outcome = stopped ? { kind: 'untried' } : await one(failure).catch(thrown)
    if (outcome.kind === 'thrown') stopped = !isAboutOne(outcome.error)
    results.push({ failure, outcome })
    run.tell([...results])
  }
  return results
}

const thrown = (error: unknown): Outcome => ({ kind: 'thrown', error })

/** The others may still go well: their channels are other ones. */
function isAboutOne(error: unknown): boolean {
  return error instanceof ClientError && error.status !== 401 && error.status < 500
}

/**
 * A colleague may have dealt with it meanwhile, and a retry of theirs must not be cancelled: so it is looked at first. A
 * reset deals with all failures of its channel: it is done once for those that were chosen there.
 */
function doer({ action, client }: Run): (failure: FailedTransfer) => Promise<Outcome> {
  const wasReset = new Set<string>()
  return async ({ channelCode, transferId }) => {
    if (wasReset.has(channelCode)) return { kind: 'done' }
    const { retry = 'HANDLED' } = await client.platform.transferFacts({ channelCode, transferId })
    if (action === 'retry') {
      if (retry !== 'POSSIBLE') return { kind: 'impossible', why: retry }
      return { kind: 'done', by: (await client.retryTransfer({ channelCode })).transferId }
    }
    if (retry === 'HANDLED') return { kind: 'impossible', why: retry }
    await client.resetChannel({ channelCode })
    wasReset.add(channelCode)
    return { kind: 'done' }
  }
}
