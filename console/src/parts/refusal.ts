// What is said when something did not succeed. If the node itself answered, it was refused. If no answer came, or that of a
// proxy, nobody here knows whether it was done.

import { ClientError } from '../../../sdk/index.ts'
import { useWords } from '../i18n/language.tsx'

export type Refusal = { title: string; text: string }

/** The node writes the path of the request; the client writes the whole address where another server has answered. */
export function isFromNode(thrown: unknown): thrown is ClientError {
  return thrown instanceof ClientError && thrown.body.path.startsWith('/')
}

export function useRefusals() {
  const { app } = useWords()
  const textOf = (thrown: unknown): string => {
    if (isFromNode(thrown)) return thrown.message
    return thrown instanceof ClientError ? app.answeredBetween(thrown.status) : app.unanswered
  }
  return {
    textOf,
    /** Of a change; `refused` is the title for what the node itself has refused. */
    ofChange: (thrown: unknown, refused: string): Refusal => ({
      title: isFromNode(thrown) ? refused : app.mayBeDone,
      text: textOf(thrown),
    }),
    /** Of a plan: nothing would have been changed by it. */
    ofPlan: (thrown: unknown, refused: string): Refusal => ({
      title: isFromNode(thrown) ? refused : app.notDone,
      text: textOf(thrown),
    }),
    /** Of a thing that somebody else has changed or removed: the node said no before it was read again. */
    ofOvertaken: (thrown: unknown, refused: string): Refusal => ({
      title: isFromNode(thrown) && thrown.status === 404 ? app.removedMeanwhile : refused,
      text: textOf(thrown),
    }),
  }
}
