// Pages: what was asked for, within the node's maximum.

import type { Context } from './context.ts'

export function askedPage(context: Context, input: { page?: number | undefined; size?: number | undefined }) {
  const page = input.page ?? 1
  const size = Math.min(input.size ?? 1, context.maxPageSize)
  return { page, size, offset: (page - 1) * size }
}
