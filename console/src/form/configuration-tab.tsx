// The configuration. All who may reach the channel can read it; some may change it.

import type { Channel } from '../../../sdk/index.ts'
import { Button, Group, Stack, Text } from '@mantine/core'
import { IconPencil } from '@tabler/icons-react'
import { useRef, useState } from 'react'
import { useWords } from '../i18n/language.tsx'
import { useSession } from '../session/session.tsx'
import { ChannelKeysPanel } from '../setup/channel-keys.tsx'
import { ChannelSetupPanel } from '../setup/channel-setup.tsx'
import { ConfigurationForm } from './configuration-form.tsx'
import { ConfigurationView } from './configuration-view.tsx'

export default function ConfigurationTab({ code, channel }: { code: string; channel: Channel }) {
  const words = useWords()
  const { rights } = useSession()
  const [editing, setEditing] = useState(false)
  const wasEditing = useRef(false)
  if (editing) return <ConfigurationForm code={code} done={() => setEditing(false)} />
  return (
    <Stack gap="md">
      <Group justify="flex-end">
        {rights.may('updateChannel') || rights.changesSignaturesAlone ? (
          <Button
            variant="default"
            leftSection={<IconPencil size={16} aria-hidden />}
            // Whoever leaves the form comes back to where it was opened.
            autoFocus={wasEditing.current}
            onClick={() => {
              wasEditing.current = true
              setEditing(true)
            }}
          >
            {words.config.edit}
          </Button>
        ) : (
          <Text fz="sm" c="dimmed">
            {words.config.readOnly}
          </Text>
        )}
      </Group>
      <ConfigurationView channel={channel} />
      {(rights.may('channelKeys') || rights.may('generateChannelKey')) && <ChannelKeysPanel code={code} />}
      {rights.may('changeChannelSetup') && <ChannelSetupPanel code={code} />}
    </Stack>
  )
}
