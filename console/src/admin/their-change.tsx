// Somebody else has changed the thing since it was read: what they changed, and what becomes of one's own change.

import { Button, Group, Text } from '@mantine/core'
import { useWords } from '../i18n/language.tsx'
import { Notice } from '../parts/notice.tsx'
import { differences } from './fields.ts'
import type { Draft, Field } from './fields.ts'

type Props = { fields: readonly Field[]; base: Draft; theirs: Draft; take(): void; keep(): void }

export function TheirChange({ fields, base, theirs, take, keep }: Props) {
  const words = useWords()
  const said = (draft: Draft, pointer: string) => {
    const value = draft[pointer]
    return (typeof value === 'string' ? value : JSON.stringify(value)) || words.app.unset
  }
  return (
    <Notice tone="waiting" role="alert" title={words.admin.theirsTitle}>
      <ul>
        {differences(fields, base, theirs).map(({ pointer, label }) => (
          <li key={pointer}>
            <Text fz="sm" component="span">
              {words.admin.fields[label]}: {said(base, pointer)} → <b>{said(theirs, pointer)}</b>
            </Text>
          </li>
        ))}
      </ul>
      <Group gap="sm" mt="sm">
        <Button size="xs" variant="default" onClick={take}>
          {words.admin.takeTheirs}
        </Button>
        <Button size="xs" variant="default" onClick={keep}>
          {words.admin.keepMine}
        </Button>
      </Group>
    </Notice>
  )
}
