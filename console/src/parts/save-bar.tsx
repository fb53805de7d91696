// At the foot of a form: what stands in the way, the way out, and the review that comes before saving.

import { Button, Group, Text } from '@mantine/core'
import { useFormats, useWords } from '../i18n/language.tsx'

type Props = {
  /** Fields that need attention. */
  faults: number
  changed: boolean
  busy?: boolean
  leaving: string
  leave(): void
}

export function SaveBar({ faults, changed, busy = false, leaving, leave }: Props) {
  const words = useWords()
  const formats = useFormats()
  const says = faults > 0 ? words.config.faults(formats.number(faults)) : changed ? '' : words.config.nothing
  return (
    <div className="save-bar">
      <Text fz="sm" c={faults > 0 ? 'var(--mantine-color-error)' : 'dimmed'} role="status">
        {says}
      </Text>
      <Group gap="sm">
        <Button
          variant="default"
          onClick={() => {
            if (!changed || confirm(words.admin.leave)) leave()
          }}
        >
          {leaving}
        </Button>
        <Button type="submit" loading={busy} disabled={!changed}>
          {words.config.review}
        </Button>
      </Group>
    </div>
  )
}
