// The mark: two gates of a lock, ajar.

import { Group, Text } from '@mantine/core'
import icon from '../icon.svg'
import { useWords } from '../i18n/language.tsx'

function Logo({ size }: { size: number }) {
  return <img src={icon} width={size} height={size} alt="" />
}

/** The name with its mark; at the door also what it is. */
export function Brand({ tagline = false }: { tagline?: boolean }) {
  const words = useWords()
  return (
    <Group gap="sm" wrap="nowrap">
      <Logo size={tagline ? 40 : 30} />
      <div>
        <Text fw={700} fz="lg" lh={1.2}>
          {words.app.name}
        </Text>
        {tagline && (
          <Text c="dimmed" fz="sm">
            {words.app.tagline}
          </Text>
        )}
      </div>
    </Group>
  )
}
