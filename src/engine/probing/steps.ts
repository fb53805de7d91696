// Steps of a connection test: each is tried after the ones before it went well, within its time.

import type { TestAdvice, TestedLine, TestStep } from '../../contract/administration/connection-test.ts'
import { messageOf, NodeError } from '../../errors.ts'

export const STEP_MS = 10_000

type Step = TestStep['step']
type Seen = string | undefined

/** What a step may say besides that it went well. */
export class Failed extends Error {
  readonly advice: TestAdvice
  constructor(message: string, advice: TestAdvice) {
    super(message)
    this.advice = advice
  }
}

export class Steps {
  readonly line: TestedLine
  #failed = false

  constructor(channels: readonly string[], address?: string) {
    this.line = { channels: [...channels], ...(address !== undefined && { address }), steps: [] }
  }

  get failed(): boolean {
    return this.#failed
  }

  /** What `run` returns is what was seen; what it throws is why it failed. Undefined where it did not succeed. */
  async take<T>(
    step: Step,
    advice: TestAdvice,
    run: () => Promise<{ seen?: Seen; warn?: TestAdvice | undefined; value: T }>,
  ): Promise<T | undefined> {
    if (this.#failed) {
      this.skip(step, 'AFTER_FAILURE')
      return undefined
    }
    const began = performance.now()
    const took = () => Math.round(performance.now() - began)
    try {
      const { seen, warn, value } = await inTime(run())
      const said = { ...(seen !== undefined && { seen }), ...(warn !== undefined && { advice: warn }) }
      this.pass(step, said, took())
      return value
    } catch (thrown) {
      this.fail(step, messageOf(thrown), thrown instanceof Failed ? thrown.advice : advice, took())
      return undefined
    }
  }

  pass(step: Step, said: { seen?: string; advice?: TestAdvice }, milliseconds: number): void {
    this.line.steps.push({ step, outcome: 'OK', ...said, milliseconds })
  }

  fail(step: Step, seen: string, advice: TestAdvice, milliseconds = 0): void {
    this.#failed = true
    this.line.steps.push({ step, outcome: 'FAILED', seen, advice, milliseconds })
  }

  skip(step: Step, advice: TestAdvice): void {
    this.line.steps.push({ step, outcome: 'SKIPPED', advice, milliseconds: 0 })
  }
}

/** Whatever a step waits for ends by itself a little later: all of it has limits of its own. */
function inTime<T>(work: Promise<T>): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const timer = setTimeout(
    () => reject(new NodeError('timed_out', `no answer within ${STEP_MS / 1000} s`)),
    STEP_MS + 500,
  )
  work.then(resolve, reject).finally(() => clearTimeout(timer))
  return promise
}
