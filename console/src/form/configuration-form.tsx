// The form for changing the configuration. After the first review it is checked while typing. A review shows what will
// change. If the node refuses, its message is shown at the field it names.

import { ClientError } from '../../../sdk/index.ts'
import type { ChannelPatch, Client } from '../../../sdk/index.ts'
import { Button, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import { IconPlus, IconTrash } from '@tabler/icons-react'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { FormEvent } from 'react'
import { SIGNATURE_FIELDS } from '../../../src/domain/channel-trust.ts'
import { useWords } from '../i18n/language.tsx'
import { useTell } from '../parts/ask.tsx'
import { goToFirst, REFUSAL_ID } from '../parts/first-fault.ts'
import { Notice } from '../parts/notice.tsx'
import { Panel } from '../parts/panel.tsx'
import { useRefusals } from '../parts/refusal.ts'
import type { Refusal } from '../parts/refusal.ts'
import { SaveBar } from '../parts/save-bar.tsx'
import { Failed, Loading } from '../parts/states.tsx'
import { TheirChange } from '../parts/their-change.tsx'
import { useUnsaved } from '../parts/unsaved.ts'
import { useSession } from '../session/session.tsx'
import { ChangesDialog } from './changes-dialog.tsx'
import { changesOf, draftOf, mergeDrafts, patchOf } from './draft.ts'
import type { Draft } from './draft.ts'
import { FieldControl, idOf } from './field-control.tsx'
import { useFieldWords } from './field-words.ts'
import { faultsOf, placeMessage } from './rules.ts'
import type { Faults } from './rules.ts'
import { DIRECTORY_FIELDS, GROUPS, isSecret } from './schema.ts'
import type { GroupName } from './schema.ts'
import { SecretField } from './secret-field.tsx'

/** The fields that this user may change, by group; a group without one is left out. */
function useGroups(): [GroupName, string[]][] {
  const { rights } = useSession()
  const all = Object.entries(GROUPS) as [GroupName, string[]][]
  if (!rights.changesSignaturesAlone) return all
  return all
    .map(([group, pointers]): [GroupName, string[]] => [
      group,
      pointers.filter((pointer) => SIGNATURE_FIELDS.has(pointer)),
    ])
    .filter(([, pointers]) => pointers.length > 0)
}

type Props = { code: string; done(): void }
type Read = { draft: Draft; tag: string | undefined }

async function readDraft(client: Client, code: string, signal?: AbortSignal): Promise<Read> {
  let tag: string | undefined
  const [channel = {}] = await client.channelConfiguration(
    { channelCode: code },
    { signal, onTag: (read) => (tag = read) },
  )
  return { draft: draftOf(channel), tag }
}

/** What is being typed is not exchanged under the fingers; the revision check tells of changes. */
export function ConfigurationForm({ code, done }: Props) {
  const { client } = useSession()
  const { data, error, refetch } = useQuery({
    queryKey: ['configuration', code, 'form'],
    queryFn: ({ signal }) => readDraft(client, code, signal),
    staleTime: Infinity,
    gcTime: 0,
    refetchOnWindowFocus: false,
  })
  if (!data) return error ? <Failed error={error} again={() => void refetch()} /> : <Loading />
  return <Form code={code} read={data} done={done} />
}

function Form({ code, read, done }: Props & { read: Read }) {
  const words = useWords()
  const field = useFieldWords()
  const [base, setBase] = useState(read)
  const [draft, setDraft] = useState(read.draft)
  const [theirs, setTheirs] = useState<Read>()
  const [checked, setChecked] = useState(false)
  const [reviewing, setReviewing] = useState(false)
  const [refused, setRefused] = useState<Faults>({})
  const [refusal, setRefusal] = useState<Refusal>()
  const groups = useGroups()
  // Whoever opens the form is in it.
  const [goTo, setGoTo] = useState<readonly string[]>(() => (groups[0]?.[1] ?? []).slice(0, 1).map(idOf))
  const own = checked ? faultsOf(draft, words.config.rules) : {}
  const faults = { ...refused, ...own }
  const before = base.draft
  const changes = changesOf(before, draft)
  const save = useSave(code, {
    saved: done,
    overtaken: (now) => {
      setReviewing(false)
      setTheirs(now)
      scrollTo({ top: 0 })
    },
    refused: (refusal) => {
      setReviewing(false)
      const placed = placeMessage(refusal.text)
      setRefused(placed ? { [placed.pointer]: placed.text } : {})
      setGoTo([placed ? idOf(placed.pointer) : REFUSAL_ID])
      setRefusal(placed ? undefined : refusal)
    },
  })
  useUnsaved(changes.length > 0 && !save.isSuccess)
  useEffect(() => goToFirst(goTo), [goTo])

  /** The node's message about a field is shown until the field changes. */
  const edit = (pointer: string, next: (draft: Draft) => Draft) => {
    setRefused(({ [pointer]: _gone, ...rest }) => rest)
    setDraft(next)
  }
  function review(event: FormEvent) {
    event.preventDefault()
    setChecked(true)
    setRefusal(undefined)
    const wrong = Object.keys(faultsOf(draft, words.config.rules))
    if (wrong.length === 0) setReviewing(true)
    else setGoTo(wrong.map(idOf))
  }
  const shown = (pointer: string, text: string) =>
    text
      .split('\n')
      .map((line) => field.value(pointer, line))
      .join(', ')
  return (
    <form onSubmit={review} noValidate>
      <Stack gap="lg">
        {theirs && (
          <TheirChange
            fields={changesOf(before, theirs.draft).map(({ pointer, before, after }) => ({
              key: pointer,
              label: field.label(pointer),
              before: shown(pointer, before),
              after: shown(pointer, after),
            }))}
            take={() => {
              setDraft(theirs.draft)
              setBase(theirs)
              setTheirs(undefined)
            }}
            keep={() => {
              setDraft(mergeDrafts({ base: before, theirs: theirs.draft, mine: draft }))
              setBase(theirs)
              setTheirs(undefined)
            }}
          />
        )}
        {refusal && (
          <Notice tone="bad" id={REFUSAL_ID} role="alert" title={refusal.title}>
            {refusal.text}
          </Notice>
        )}
        {groups.map(([group, pointers]) => (
          <Panel key={group} title={words.config.groups[group]} note={words.config.groups[`${group}Help`]}>
            {group === 'directories' && <Directories draft={draft} faults={faults} edit={edit} />}
            <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
              {pointers.map((pointer) =>
                isSecret(pointer) ? (
                  <SecretField
                    key={pointer}
                    pointer={pointer}
                    isStored={draft.stored.includes(pointer)}
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
      <SaveBar
        faults={Object.keys(faults).length}
        changed={changes.length > 0}
        leaving={words.config.discard}
        leave={done}
      />
      <ChangesDialog
        opened={reviewing}
        changes={changes}
        busy={save.isPending}
        close={() => setReviewing(false)}
        save={() => save.mutate({ body: patchOf(before, draft), ifMatch: base.tag })}
      />
    </form>
  )
}

function withOrWithout<T>(all: Record<string, T>, key: string, value: T | undefined): Record<string, T> {
  const { [key]: _old, ...rest } = all
  return value === undefined ? rest : { ...rest, [key]: value }
}

type Told = { saved(): void; overtaken(now: Read): void; refused(refusal: Refusal): void }

function useSave(code: string, told: Told) {
  const words = useWords()
  const { client } = useSession()
  const queries = useQueryClient()
  const tell = useTell()
  const refusals = useRefusals()
  return useMutation({
    mutationFn: ({ body, ifMatch }: { body: ChannelPatch; ifMatch: string | undefined }) =>
      client.updateChannel({ channelCode: code, body }, { ifMatch }),
    onSuccess: async (channel) => {
      queries.setQueryData(['configuration', code], channel)
      tell.done(words.config.saved)
      told.saved()
      await queries.invalidateQueries()
    },
    onError: async (thrown) => {
      const refusal = refusals.ofChange(thrown, words.config.notSaved)
      if (!(thrown instanceof ClientError)) return told.refused(refusal)
      if (thrown.status === 404) return told.refused(refusals.ofOvertaken(thrown, refusal.title))
      if (thrown.status !== 412) return told.refused(refusal)
      try {
        return told.overtaken(await readDraft(client, code))
      } catch (gone) {
        return told.refused(refusals.ofOvertaken(gone, words.config.notSaved))
      }
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
  const add = useRef<HTMLButtonElement>(null)
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
              onClick={() => {
                set((all) => all.filter((_, at) => at !== index), '/directories')
                // The button goes with the last one.
                if (index === draft.directories.length - 1) add.current?.focus()
              }}
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
          ref={add}
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
