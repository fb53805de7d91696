// Somebody at the API of a node that may die at any moment: asks for sends, resets and reads, and listens to events.
// A call that a kill cuts off is no fault; an answer that the node must never give is.

import type { TransferEvent } from '../../src/contract/event.ts'
import { BASE_PATH, operations } from '../../src/contract/operations.ts'
import type { OperationName } from '../../src/contract/operations.ts'

export type Reply = { status: number; body: unknown }

/** undefined: the node was gone before it answered. */
export async function ask(
  url: string,
  token: string,
  name: OperationName,
  code: string,
): Promise<Reply | undefined> {
  const { method, path } = operations[name]
  try {
    const response = await fetch(url + BASE_PATH + path.replace('{channelCode}', code), {
      method,
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(20_000),
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
  } catch {
    return undefined
  }
}

export type Ears = { close(): void; done: Promise<void> }

/** Calls `heard` for each event until the stream ends. */
export function listen(url: string, token: string, heard: (event: TransferEvent) => void): Ears {
  const stop = new AbortController()
  const run = async () => {
    const response = await fetch(`${url}${BASE_PATH}/events`, {
      headers: { authorization: `Bearer ${token}` },
      signal: stop.signal,
    })
    let rest = ''
    const decoder = new TextDecoder()
    for await (const piece of response.body ?? []) {
      const lines = (rest + decoder.decode(piece, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines)
        if (line.startsWith('data: ')) heard(JSON.parse(line.slice(6)) as TransferEvent) // the contract's own
    }
  }
  return { close: () => stop.abort(), done: run().catch(() => {}) }
}
