// Lists, page by page.

import type { CallOptions } from './client-options.ts'

type Listed = { content: unknown[]; last: boolean }
type List = (input: never, options?: CallOptions) => Promise<Listed>
type ItemOf<L extends List> = Awaited<ReturnType<L>>['content'][number]

const PAGE_SIZE = 100

/** All items of a list, page by page: `for await (const transfer of pages(client.listTransfers, { channelCode }))`. */
export async function* pages<L extends List>(
  list: L,
  input: NonNullable<Parameters<L>[0]>,
  options?: CallOptions,
): AsyncGenerator<ItemOf<L>, void, undefined> {
  const { page: first = 1, size = PAGE_SIZE } = input as { page?: number; size?: number } // every list has these two
  for (let page = first; ; page++) {
    const answer = await list({ ...(input as object), page, size } as never, options)
    yield* answer.content as ItemOf<L>[]
    if (answer.last) return
  }
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}
