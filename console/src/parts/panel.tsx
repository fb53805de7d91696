// A titled part of a page.

import { Group, Paper, Text, Title } from '@mantine/core'
import { useId } from 'react'
import type { ReactNode } from 'react'

type Props = { title: string; note?: ReactNode; action?: ReactNode; children: ReactNode }

export function Panel({ title, note, action, children }: Props) {
  const id = useId()
  return (
    <Paper component="section" withBorder radius="md" p="lg" aria-labelledby={id} className="panel">
      <Group justify="space-between" mb="md" gap="sm">
        <Group gap="sm" align="baseline">
          <Title order={2} fz="h2" id={id}>
            {title}
          </Title>
          {note !== undefined && (
            <Text fz="sm" c="dimmed">
              {note}
            </Text>
          )}
        </Group>
        {action}
      </Group>
      {children}
    </Paper>
  )
}
