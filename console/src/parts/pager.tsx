// Pages of a list that the node pages: one by one, or by a jump.

import { ActionIcon, Button, Group } from '@mantine/core'
import { IconChevronLeft, IconChevronRight } from '@tabler/icons-react'
import { useEffect } from 'react'
import { useWords } from '../i18n/language.tsx'
import type { GoToPage } from './url-filter.ts'

type Props = {
  page: number
  pages: number
  /** There are pages beyond those that were counted. */
  more?: boolean
  go: GoToPage
}

export function Pager({ page, pages, more = false, go }: Props) {
  const words = useWords()
  // An old link, or a list that has become shorter: what there is stands on its last page.
  const beyond = page > pages && pages > 0
  useEffect(() => {
    if (beyond) go(pages, { replace: true })
  }, [beyond, pages]) // eslint-disable-line react-hooks/exhaustive-deps
  if (pages <= 1 && page <= 1) return null
  // Not `disabled` at the ends: the focus would be nowhere after the step that led there.
  const step = (to: number) =>
    to >= 1 && to <= pages ? { onClick: () => go(to) } : { 'data-disabled': true, 'aria-disabled': true }
  return (
    <Group component="nav" aria-label={words.app.pages} justify="center" gap={6} mt="md">
      <ActionIcon variant="default" size="lg" aria-label={words.app.previous} {...step(page - 1)}>
        <IconChevronLeft size={18} aria-hidden />
      </ActionIcon>
      {jumps(page, pages).map((to, index, all) => (
        <Group key={to} gap={6}>
          {index > 0 && to > (all[index - 1] ?? 0) + 1 && <span aria-hidden>…</span>}
          <Button
            size="compact-md"
            variant={to === page ? 'filled' : 'default'}
            aria-label={words.app.page(to, pages)}
            aria-current={to === page ? 'page' : undefined}
            onClick={() => go(to)}
          >
            {to}
          </Button>
        </Group>
      ))}
      {more && <span aria-hidden>…</span>}
      <ActionIcon variant="default" size="lg" aria-label={words.app.next} {...step(page + 1)}>
        <IconChevronRight size={18} aria-hidden />
      </ActionIcon>
    </Group>
  )
}

/** The first, the last, and those around this one. */
function jumps(page: number, pages: number): number[] {
  const near = [page - 2, page - 1, page, page + 1, page + 2]
  const all = [1, ...near, pages].filter((one) => one >= 1 && (one <= pages || one === page))
  return [...new Set(all)].sort((a, b) => a - b)
}
