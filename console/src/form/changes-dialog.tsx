// What will change, field by field, before anything is saved.

import { Button, Group, Modal, Table, Text } from '@mantine/core'
import { useWords } from '../i18n/language.tsx'
import type { Change } from './draft.ts'
import { useFieldWords } from './field-words.ts'
import { isSecret } from './schema.ts'

type Props = { opened: boolean; changes: readonly Change[]; busy: boolean; close(): void; save(): void }

export function ChangesDialog({ opened, changes, busy, close, save }: Props) {
  const words = useWords()
  const field = useFieldWords()
  const show = (pointer: string, text: string) =>
    text
      .split('\n')
      .map((line) => field.value(pointer, line))
      .join(', ')
  return (
    <Modal
      opened={opened}
      onClose={close}
      size="lg"
      title={words.config.changesTitle}
      closeButtonProps={{ 'aria-label': words.app.close }}
    >
      <Text fz="sm" c="dimmed" mb="md">
        {words.config.changesHelp}
      </Text>
      <Table className="cards-on-phone" aria-label={words.config.changesTitle}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{words.channel.what}</Table.Th>
            <Table.Th>{words.config.before}</Table.Th>
            <Table.Th>{words.config.after}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {changes.map(({ pointer, before, after }) => (
            <Table.Tr key={pointer}>
              <Table.Td>
                {field.label(pointer)}
                <DirectoryOf pointer={pointer} />
              </Table.Td>
              <Table.Td className="words" data-label={words.config.before}>
                {isSecret(pointer) ? '—' : show(pointer, before)}
              </Table.Td>
              <Table.Td className="words" data-label={words.config.after}>
                <b>{isSecret(pointer) ? words.config.secretChanged : show(pointer, after)}</b>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Group justify="flex-end" mt="lg">
        <Button variant="default" onClick={close}>
          {words.app.cancel}
        </Button>
        <Button onClick={save} loading={busy} data-autofocus>
          {words.config.save}
        </Button>
      </Group>
    </Modal>
  )
}

function DirectoryOf({ pointer }: { pointer: string }) {
  const words = useWords()
  const index = /^\/directories\/(\d+)\//.exec(pointer)?.[1]
  if (index === undefined) return null
  return (
    <Text fz="xs" c="dimmed">
      {words.config.directory(Number(index) + 1)}
    </Text>
  )
}
