// The page that every list operation answers with, counted from 1, in a fixed order.

import type { TSchema } from 'typebox'
import { Type } from './type.ts'

export const Sort = Type.Object(
  { empty: Type.Boolean(), sorted: Type.Boolean(), unsorted: Type.Boolean() },
  { description: 'The order is fixed: always sorted.' },
)

const int32 = (description: string) => Type.Integer({ format: 'int32', description })
const int64 = (description: string) => Type.Integer({ format: 'int64', description })

export const Pageable = Type.Object(
  {
    offset: int64('Items before this page.'),
    sort: Sort,
    pageNumber: int32('As number.'),
    pageSize: int32('As size.'),
    paged: Type.Boolean({ description: 'Always true.' }),
    unpaged: Type.Boolean({ description: 'Always false.' }),
  },
  { description: 'Where in the whole list this page lies.' },
)

export function pageOf<S extends TSchema>(item: S) {
  return Type.Object({
    content: Type.Array(item, { description: 'The items of this page.' }),
    totalElements: int64('Items in all.'),
    totalPages: int32('Pages in all.'),
    size: int32('Items asked for, after the node’s maximum.'),
    number: int32('The page asked for, from 1.'),
    numberOfElements: int32('Items on this page.'),
    first: Type.Boolean({ description: 'This is the first page.' }),
    last: Type.Boolean({ description: 'No page follows.' }),
    empty: Type.Boolean({ description: 'The page has no items.' }),
    sort: Sort,
    pageable: Pageable,
  })
}

export type Page<T> = {
  content: T[]
  totalElements: number
  totalPages: number
  size: number
  number: number
  numberOfElements: number
  first: boolean
  last: boolean
  empty: boolean
  sort: { empty: boolean; sorted: boolean; unsorted: boolean }
  pageable: {
    offset: number
    sort: { empty: boolean; sorted: boolean; unsorted: boolean }
    pageNumber: number
    pageSize: number
    paged: boolean
    unpaged: boolean
  }
}

const SORT = { empty: false, sorted: true, unsorted: false }

export function makePage<T>(content: T[], total: number, asked: { page: number; size: number }): Page<T> {
  const totalPages = Math.ceil(total / asked.size)
  return {
    content,
    totalElements: total,
    totalPages,
    size: asked.size,
    number: asked.page,
    numberOfElements: content.length,
    first: asked.page === 1,
    last: asked.page >= totalPages,
    empty: content.length === 0,
    sort: SORT,
    pageable: {
      offset: (asked.page - 1) * asked.size,
      sort: SORT,
      pageNumber: asked.page,
      pageSize: asked.size,
      paged: true,
      unpaged: false,
    },
  }
}
