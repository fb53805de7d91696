// The form for changing the configuration. After the first review it is checked while typing. A review shows what will
// change. If the node refuses, its message is shown at the field it names.

import { ClientError } from '../../../sdk/index.ts'
import type { Channel } from '../../../sdk/index.ts'
import { Button, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconPlus, IconTrash } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import type { FormEvent } from 'react'
import { useFormats, useWords } from '../i18n/language.tsx'
import { Notice } from '../parts/notice.tsx'
import { Panel } from '../parts/panel.tsx'
import { useSession } from '../session/session.tsx'
import { ChangesDialog } from './changes-dialog.tsx'
import { changesOf, draftOf, patchOf } from './draft.ts'
import type { Draft } from './draft.ts'
import { FieldControl, idOf } from './field-control.tsx'
import { faultsOf, placeMessage } from './rules.ts'
import type { Faults } from './rules.ts'
import { DIRECTORY_FIELDS, GROUPS, isSecret } from './schema.ts'
import type { GroupName } from './schema.ts'
import { SecretField } from './secret-field.tsx'

type Props = { code: string; channel: Channel; done(): void }

export function ConfigurationForm({ code, channel, done }: Props) {
  const words = useWords()
  const formats = useFormats()
  const before = useMemo(() => draftOf(channel), [channel])
  const [draft, setDraft] = useState(before)
  const [checked, setChecked] = useState(false)
  const [reviewing, setReviewing] = useState(false)
  const [refused, setRefused] = useState<Faults>({})
  const [goTo, setGoTo] = useState<string>()
  const own = checked ? faultsOf(draft, words.config.rules) : {}
  const faults = { ...refused, ...own }
  const changes = changesOf(before, draft)
  const save = useSave(code, {
    saved: done,
    refused: (faults) => {
      setReviewing(false)
      setRefused(faults)
      setGoTo(Object.keys(faults)[0])
    },
  })
  useEffect(() => {
    if (goTo === undefined) return
    const control = document.getElementById(idOf(goTo))
    control?.scrollIntoView({ block: 'center' })
    control?.focus()
    setGoTo(undefined)
  }, [goTo])

  /** The node's message about a field is shown until the field changes. */
  const edit = (pointer: string, next: (draft: Draft) => Draft) => {
    setRefused(({ [pointer]: _gone, ...rest }) => rest)
    setDraft(next)
  }
  function review(event: FormEvent) {
    event.preventDefault()
    setChecked(true)
    const [first] = Object.keys(faultsOf(draft, words.config.rules))
    if (first === undefined) setReviewing(true)
    else setGoTo(first)
  }
  const count = Object.keys(faults).length
  return (
    <form onSubmit={review} noValidate>
      <Stack gap="lg">
        {(Object.keys(GROUPS) as GroupName[]).map((group) => (
          <Panel key={group} title={words.config.groups[group]} note={words.config.groups[`${group}Help`]}>
            {group === 'directories' && <Directories draft={draft} faults={faults} edit={edit} />}
            <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
              {GROUPS[group].map((pointer) =>
                isSecret(pointer) ? (
                  <SecretField
                    key={pointer}
                    pointer={pointer}
                    change={draft.secrets[pointer]}
                    error={faults[pointer]}
                    set={(change) =>
                      edit(pointer, (old) => ({
                        ...old,
                        secrets: withOrWithout(old.secrets, pointer, change),
                      }))
                    }
                  />
                ) : (
                  <FieldControl
                    key={pointer}
                    pointer={pointer}
                    value={draft.fields[pointer] ?? ''}
                    error={faults[pointer]}
                    change={(value) =>
                      edit(pointer, (old) => ({ ...old, fields: { ...old.fields, [pointer]: value } }))
                    }
                  />
                ),
              )}
            </SimpleGrid>
          </Panel>
        ))}
      </Stack>
      <div className="save-bar">
        <Text fz="sm" c={count > 0 ? 'var(--mantine-color-error)' : 'dimmed'} role="status">
          {count > 0
            ? words.config.faults(formats.number(count))
            : changes.length === 0
              ? words.config.nothing
              : ''}
        </Text>
        <Group gap="sm">
          <Button variant="default" onClick={done}>
            {words.config.discard}
          </Button>
          <Button type="submit" disabled={changes.length === 0}>
            {words.config.review}
          </Button>
        </Group>
      </div>
      <ChangesDialog
        opened={reviewing}
        changes={changes}
        busy={save.isPending}
        close={() => setReviewing(false)}
        save={() => save.mutate(patchOf(before, draft))}
      />
      {save.error && !placeMessage(save.error.message) && (
        <Notice tone="bad" role="alert" title={words.config.notSaved}>
          {save.error.message}
        </Notice>
      )}
    </form>
  )
}

function withOrWithout<T>(all: Record<string, T>, key: string, value: T | undefined): Record<string, T> {
  const { [key]: _old, ...rest } = all
  return value === undefined ? rest : { ...rest, [key]: value }
}

function useSave(code: string, told: { saved(): void; refused(faults: Faults): void }) {
  const words = useWords()
  const { client } = useSession()
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (body: Parameters<typeof client.updateChannel>[0]['body']) =>
      client.updateChannel({ channelCode: code, body }),
    onSuccess: async (channel) => {
      queries.setQueryData(['configuration', code], channel)
      notifications.show({
        color: 'teal',
        message: words.config.saved,
        closeButtonProps: { 'aria-label': words.app.close },
      })
      told.saved()
      await queries.invalidateQueries()
    },
    onError: (thrown) => {
      const placed = thrown instanceof ClientError ? placeMessage(thrown.message) : undefined
      told.refused(placed ? { [placed.pointer]: placed.text } : {})
    },
  })
}

type DirectoriesProps = {
  draft: Draft
  faults: Faults
  edit(pointer: string, next: (draft: Draft) => Draft): void
}

function Directories({ draft, faults, edit }: DirectoriesProps) {
  const words = useWords()
  const set = (directories: (old: Draft['directories']) => Draft['directories'], pointer: string) =>
    edit(pointer, (old) => ({ ...old, directories: directories(old.directories) }))
  return (
    <Stack gap="md" mb="lg">
      {draft.directories.length === 0 && (
        <Text fz="sm" c="dimmed">
          {words.config.noDirectories}
        </Text>
      )}
      {draft.directories.map((directory, index) => (
        <section key={index} className="directory" aria-label={words.config.directory(index + 1)}>
          <Group justify="space-between" mb="xs">
            <Title order={3} fz="sm">
              {words.config.directory(index + 1)}
            </Title>
            <Button
              size="xs"
              variant="default"
              leftSection={<IconTrash size={15} aria-hidden />}
              onClick={() => set((all) => all.filter((_, at) => at !== index), '/directories')}
            >
              {words.config.removeDirectory(index + 1)}
            </Button>
          </Group>
          <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
            {DIRECTORY_FIELDS.map((name) => {
              const pointer = `/directories/${index}/${name}`
              return (
                <FieldControl
                  key={name}
                  pointer={pointer}
                  value={directory[name] ?? ''}
                  error={faults[pointer]}
                  change={(value) =>
                    set(
                      (all) => all.map((one, at) => (at === index ? { ...one, [name]: value } : one)),
                      pointer,
                    )
                  }
                />
              )
            })}
          </SimpleGrid>
        </section>
      ))}
      <div>
        <Button
          variant="default"
          size="xs"
          leftSection={<IconPlus size={15} aria-hidden />}
          onClick={() => set((all) => [...all, {}], '/directories')}
        >
          {words.config.addDirectory}
        </Button>
      </div>
    </Stack>
  )
}
