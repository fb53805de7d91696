// What a change did, field by field: the value before and after by JSON pointer. Secrets and people's data are shown as
// fingerprints, so that a reader sees that they changed and no more; long values by their beginning and fingerprint.

import { isDeepStrictEqual } from 'node:util'
import type { AuditChange } from '../contract/audit.ts'
import { isObject } from '../json.ts'

export type Hiding = {
  fingerprint(secret: string): string
  /** Pointers, or beginnings of pointers, of what is not shown; * is any one step. */
  hidden: readonly string[]
}

const LONGEST = 2000

export function changesOf(before: unknown, after: unknown, hiding: Hiding): AuditChange[] {
  const changes: AuditChange[] = []
  compare(before, after, '', hiding, changes)
  return changes
}

function compare(before: unknown, after: unknown, at: string, hiding: Hiding, into: AuditChange[]): void {
  if (isDeepStrictEqual(before ?? null, after ?? null)) return
  const hide = isHidden(at, hiding.hidden)
  if (!hide && isObject(before ?? {}) && isObject(after ?? {}) && (isObject(before) || isObject(after))) {
    const [old, fresh] = [before ?? {}, after ?? {}] as Record<string, unknown>[]
    for (const name of new Set([...Object.keys(old ?? {}), ...Object.keys(fresh ?? {})]))
      compare(
        old?.[name],
        fresh?.[name],
        `${at}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`,
        hiding,
        into,
      )
    return
  }
  const show = (value: unknown) => shown(value, hide, hiding)
  into.push({
    field: at,
    ...(before !== undefined && before !== null && { before: show(before) }),
    ...(after !== undefined && after !== null && { after: show(after) }),
  })
}

function shown(value: unknown, hide: boolean, { fingerprint }: Hiding): unknown {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (hide) return fingerprint(text)
  return text.length <= LONGEST ? value : `${text.slice(0, LONGEST)}… (${fingerprint(text)})`
}

function isHidden(pointer: string, hidden: readonly string[]): boolean {
  const steps = pointer.split('/')
  return hidden.some((pattern) => {
    const wanted = pattern.split('/')
    return (
      wanted.length <= steps.length && wanted.every((step, index) => step === '*' || step === steps[index])
    )
  })
}
