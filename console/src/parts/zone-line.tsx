// At the foot of every page: in whose time it is written, and the node's own where that is another.

import { Text } from '@mantine/core'
import { useFormats, useWords } from '../i18n/language.tsx'
import { useSession } from '../session/session.tsx'

export function ZoneLine() {
  const { zone } = useWords().app
  const formats = useFormats()
  const { timeZone } = useSession().user
  return (
    <Text component="footer" fz="xs" c="dimmed" mt="xl">
      {zone.here(formats.zone)}
      {timeZone !== formats.zoneName && ` ${zone.node(timeZone)}`}
    </Text>
  )
}
