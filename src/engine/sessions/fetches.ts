// Fetches that somebody asked for, and what the partner offered meanwhile that was refused at once: such a file never
// becomes part of a transfer, and a fetch that found nothing else must not look as if there had been nothing.

import { messageOf, NodeError } from '../../errors.ts'
import type { TransferPlan } from '../transfer-plan.ts'
import type { Offer } from '../transports/transport.ts'

export type Fetch = {
  /** Why the first of them was refused. */
  readonly refused: NodeError | undefined
  end(): void
}

type Watched = { plan: TransferPlan; refused: NodeError | undefined }

/** The file is here already, or its transfer is over: nothing is wrong with the file. */
const NO_REFUSAL: ReadonlySet<string> = new Set(['duplicate_file', 'cancelled', 'lease_lost', 'unavailable'])

export class Fetches {
  readonly #watched = new Set<Watched>()

  begin(plan: TransferPlan): Fetch {
    const watched: Watched = { plan, refused: undefined }
    this.#watched.add(watched)
    return {
      get refused() {
        return watched.refused
      },
      end: () => void this.#watched.delete(watched),
    }
  }

  refused({ contactId, application, name }: Offer, thrown: unknown): void {
    if (thrown instanceof NodeError && NO_REFUSAL.has(thrown.code)) return
    for (const watched of this.#watched) {
      const { contact, application: own } = watched.plan
      if (contact.id !== contactId || (application !== '' && application !== own)) continue
      watched.refused ??= naming(name, thrown)
    }
  }
}

function naming(name: string, thrown: unknown): NodeError {
  const message = messageOf(thrown)
  const code = thrown instanceof NodeError ? thrown.code : 'internal'
  const text = message.includes(name) ? message : `${name}: ${message}`
  return new NodeError(code, text, { cause: thrown })
}
