// Pages: what was asked for, within the node's maximum.

import { makePage } from '../../contract/page.ts'
import { Written } from '../context.ts'
import type { Context } from '../context.ts'

export type AskedPage = { page: number; size: number; offset: number }

export function askedPage(
  context: Context,
  input: { page?: number | undefined; size?: number | undefined },
): AskedPage {
  const page = input.page ?? 1
  const size = Math.min(input.size ?? 1, context.maxPageSize)
  return { page, size, offset: (page - 1) * size }
}

/** The page around items that are JSON already. */
export function writePage(items: string[], total: number, asked: AskedPage): Written {
  const { content, ...rest } = makePage(items, total, asked)
  return new Written(`{"content":[${content.join(',')}],${JSON.stringify(rest).slice(1)}`)
}
