// Pages: what was asked for, within the node's maximum.

import { makePage } from '../contract/page.ts'
import { Written } from './context.ts'
import type { Context } from './context.ts'

export type AskedPage = { page: number; size: number; offset: number }

export function askedPage(
  context: Context,
  input: { page?: number | undefined; size?: number | undefined },
): AskedPage {
  const page = input.page ?? 1
  const size = Math.min(input.size ?? 1, context.maxPageSize)
  return { page, size, offset: (page - 1) * size }
}

/** The items of a page as JSON, with commas between them. */
export type Items = { count: number; json: string }

export function joinItems(items: readonly string[]): Items {
  return { count: items.length, json: items.join(',') }
}

/** The page around items that are written as JSON already. */
export function writePage({ count, json }: Items, total: number, asked: AskedPage): Written {
  const { content: _items, ...rest } = makePage(Array.from({ length: count }), total, asked)
  return new Written(`{"content":[${json}],${JSON.stringify(rest).slice(1)}`)
}
