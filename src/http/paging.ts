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

/** The page around items that are written as JSON already. */
export function writePage(items: readonly Buffer[], total: number, asked: AskedPage): Written {
  const { content: _items, ...rest } = makePage([...items], total, asked)
  return writeBetween('{"content":[', items, `],${JSON.stringify(rest).slice(1)}`)
}

export function writeArray(items: readonly Buffer[]): Written {
  return writeBetween('[', items, ']')
}

const COMMA = Buffer.from(',')

function writeBetween(start: string, items: readonly Buffer[], end: string): Written {
  const parts = items.flatMap((item, index) => (index > 0 ? [COMMA, item] : [item]))
  return new Written(Buffer.concat([Buffer.from(start), ...parts, Buffer.from(end)]))
}
