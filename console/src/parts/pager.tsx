// Pages of a list that the node pages.

import { ActionIcon, Group, Text } from '@mantine/core'
import { IconChevronLeft, IconChevronRight } from '@tabler/icons-react'
import { useWords } from '../i18n/language.tsx'

type Props = { page: number; pages: number; go(page: number): void }

export function Pager({ page, pages, go }: Props) {
  const words = useWords()
  if (pages <= 1) return null
  return (
    <Group component="nav" aria-label={words.app.pages} justify="center" gap="sm" mt="md">
      <ActionIcon
        variant="default"
        size="lg"
        aria-label={words.app.previous}
        disabled={page <= 1}
        onClick={() => go(page - 1)}
      >
        <IconChevronLeft size={18} aria-hidden />
      </ActionIcon>
      <Text fz="sm" aria-live="polite">
        {words.app.page(page, pages)}
      </Text>
      <ActionIcon
        variant="default"
        size="lg"
        aria-label={words.app.next}
        disabled={page >= pages}
        onClick={() => go(page + 1)}
      >
        <IconChevronRight size={18} aria-hidden />
      </ActionIcon>
    </Group>
  )
}
