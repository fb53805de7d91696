// The speaker's work, one job at a time: files, receipts, handing the turn over. Jobs wait while the partner speaks.
import type { SessionHost } from '../transport.ts'
import type { NodeError } from '../../../errors.ts'
import type { Conversation } from './conversation.ts'
import { isSpeaker } from './protocol/machine.ts'
import { receiptCommand } from './receipts.ts'
import type { SessionCrypto } from './settings.ts'

export interface Job {
  /** Never rejects: a job settles whatever it promised itself. */
  run(): Promise<void>
  /** The session is over before the job's turn came. */
  drop(error: NodeError): void
}

export class Speaker {
  readonly #conversation: Conversation
  #queue: Job[] = []
  #active: Job | undefined
  #idle: (() => void)[] = []

  constructor(conversation: Conversation) {
    this.#conversation = conversation
  }

  get busy(): boolean {
    return this.#active !== undefined || this.#queue.length > 0
  }

  /** Something waits, behind the job that runs or for the turn. */
  get more(): boolean {
    return this.#queue.length > 0
  }

  add(job: Job): void {
    if (this.#conversation.isOver) return job.drop(this.#conversation.over)
    this.#queue.push(job)
    this.pump()
  }

  addFirst(job: Job): void {
    if (this.#conversation.isOver) return job.drop(this.#conversation.over)
    this.#queue.unshift(job)
    this.pump()
  }

  /** Takes back a job that has not begun. */
  remove(job: Job): boolean {
    const at = this.#queue.indexOf(job)
    if (at < 0) return false
    this.#queue.splice(at, 1)
    return true
  }

  /** Resolves when nothing waits any more, or the session is over. */
  whenIdle(): Promise<void> {
    if (!this.busy || this.#conversation.isOver) return Promise.resolve()
    return new Promise((resolve) => this.#idle.push(resolve))
  }

  /** Starts the next job if it is this end's turn. */
  pump(): void {
    if (this.#active !== undefined || !isSpeaker(this.#conversation.state)) return
    const job = this.#queue.shift()
    if (job === undefined) {
      for (const resolve of this.#idle.splice(0)) resolve()
      return
    }
    this.#active = job
    this.#conversation.background(
      job.run().finally(() => {
        this.#active = undefined
        this.pump()
      }),
    )
  }

  dropAll(error: NodeError): void {
    for (const job of this.#queue.splice(0)) job.drop(error)
    for (const resolve of this.#idle.splice(0)) resolve()
  }
}

/** Sends what receipts this node owes the partner, each confirmed before it counts as delivered. */
export async function deliverReceipts(
  conversation: Conversation,
  host: SessionHost,
  crypto: SessionCrypto,
): Promise<void> {
  const party = conversation.known
  const noted: Promise<void>[] = []
  try {
    for (const owed of await host.receiptsOwed(party.reach)) {
      if (!isSpeaker(conversation.state)) break
      // Levels before 1.4 have no negative receipt.
      const untold = !owed.positive && conversation.level < 4
      if (!untold) await conversation.ask(await receiptCommand(owed, party, crypto))
      // Noted beside the next: one that could not be noted is told once more.
      const noting = host.receiptDelivered(owed.id, untold ? 'untold' : undefined)
      noting.catch(() => {}) // heard of at the end
      noted.push(noting)
    }
  } finally {
    await Promise.all(noted)
  }
}
