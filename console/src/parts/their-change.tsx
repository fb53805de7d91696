// Somebody else has changed the thing since it was read: what they changed, and what becomes of one's own change.

import { Button, Group, Text } from '@mantine/core'
import { useWords } from '../i18n/language.tsx'
import { Notice } from './notice.tsx'

export type TheirField = { key: string; label: string; before: string; after: string }
type Props = { fields: readonly TheirField[]; take(): void; keep(): void }

export function TheirChange({ fields, take, keep }: Props) {
  const words = useWords()
  return (
    <Notice tone="waiting" role="alert" title={words.admin.theirsTitle}>
      <ul>
        {fields.map(({ key, label, before, after }) => (
          <li key={key}>
            <Text fz="sm" component="span" className="words">
              {label}: {before || words.app.unset} → <b>{after || words.app.unset}</b>
            </Text>
          </li>
        ))}
      </ul>
      <Group gap="sm" mt="sm">
        <Button size="xs" variant="default" onClick={take}>
          {words.admin.takeTheirs}
        </Button>
        <Button size="xs" variant="default" onClick={keep} data-autofocus>
          {words.admin.keepMine}
        </Button>
      </Group>
    </Notice>
  )
}
