// Makes or changes one thing. A review shows the plan in the words of `esclusa apply`, made by the node itself. If somebody
// has changed the thing meanwhile, their change is shown first.

import { ClientError } from '../../../sdk/index.ts'
import type { Changed } from '../../../sdk/index.ts'
import { SimpleGrid, Stack } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { FormEvent } from 'react'
import { useLocation } from 'wouter'
import { useWords } from '../i18n/language.tsx'
import { useTell } from '../parts/ask.tsx'
import { goToFirst, REFUSAL_ID } from '../parts/first-fault.ts'
import { Notice } from '../parts/notice.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Panel } from '../parts/panel.tsx'
import { useRefusals } from '../parts/refusal.ts'
import type { Refusal } from '../parts/refusal.ts'
import { SaveBar } from '../parts/save-bar.tsx'
import { Failed, Loading } from '../parts/states.tsx'
import { TheirChange } from '../parts/their-change.tsx'
import { useUnsaved } from '../parts/unsaved.ts'
import { useSession } from '../session/session.tsx'
import { ConnectionTestPanel } from '../setup/connection-test.tsx'
import { FieldInput, idOf } from './field-input.tsx'
import { bodyOf, differences, draftOf, faultsIn, merged, textOf } from './fields.ts'
import type { Draft, SectionName, Thing } from './fields.ts'
import { KINDS } from './kinds.ts'
import type { Kind, KindName } from './kinds.ts'
import { PlanDialog } from './plan-dialog.tsx'

export default function ThingFormPage({ name, id }: { name: KindName; id: string | undefined }) {
  const kind = KINDS[name]
  const { client } = useSession()
  const { data, error, refetch } = useQuery({
    queryKey: ['admin', name, 'one', id ?? ''],
    queryFn: async ({ signal }) => {
      if (id === undefined) return { thing: {}, tag: undefined }
      let tag: string | undefined
      const thing = await kind.read(client, id, { signal, onTag: (read) => (tag = read) })
      return { thing, tag }
    },
    // What is being typed is not exchanged under the fingers; the revision check tells of changes.
    staleTime: Infinity,
    gcTime: 0,
    refetchOnWindowFocus: false,
  })
  if (!data) return error ? <Failed error={error} again={() => void refetch()} /> : <Loading />
  return <ThingForm name={name} id={id} read={readOf(kind, data.thing, data.tag)} />
}

type Read = {
  draft: Draft
  /** Pointers of those that are stored. */
  secrets: readonly string[]
  tag: string | undefined
}

function readOf({ fields, secretsOf }: Kind, thing: Thing, tag: string | undefined): Read {
  return { draft: draftOf(fields, thing), secrets: secretsOf?.(thing) ?? [], tag }
}

type Props = { name: KindName; id: string | undefined; read: Read }

function ThingForm({ name, id, read }: Props) {
  const words = useWords()
  const kind = KINDS[name]
  const tell = useTell()
  const refusals = useRefusals()
  const { client } = useSession()
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const [base, setBase] = useState(read)
  const [draft, setDraft] = useState(read.draft)
  const [faults, setFaults] = useState<Record<string, string>>({})
  const [refusal, setRefusal] = useState<Refusal>()
  /** Ids of what was wrong when it was last looked at: the first of them gets the focus. */
  const [wrong, setWrong] = useState<readonly string[]>([])
  const [plan, setPlan] = useState<Changed>()
  const [theirs, setTheirs] = useState<Read>()
  const [saved, setSaved] = useState(false)
  const changed = differences(kind.fields, base.draft, draft)
  useUnsaved(changed.length > 0 && !saved)

  const send = async (dryRun: 'true' | 'false'): Promise<Changed> => {
    const body = bodyOf(kind.fields, draft)
    if (id === undefined) return kind.create(client, textOf(draft, kind.id).trim(), body, { dryRun })
    return kind.change(client, id, body, { dryRun }, { ifMatch: base.tag })
  }
  /** That the name is taken names no field, and yet is about one. */
  const refusedAt = (message: string): Record<string, string> =>
    id === undefined && message.endsWith(' exists already')
      ? { [kind.id]: message }
      : faultsIn(kind.fields, message)
  const show = (refusal: Refusal) => {
    const { '': general, ...atFields } = refusedAt(refusal.text)
    setFaults(atFields)
    setRefusal(general === undefined ? undefined : { ...refusal, text: general })
    setWrong([...Object.keys(atFields).map(idOf), REFUSAL_ID])
  }
  const notDone = async (thrown: Error, refusal: Refusal) => {
    setPlan(undefined)
    if (id === undefined || !(thrown instanceof ClientError)) return show(refusal)
    if (thrown.status === 404) return show(refusals.ofOvertaken(thrown, refusal.title))
    if (thrown.status !== 412) return show(refusal)
    try {
      let tag: string | undefined
      const thing = await kind.read(client, id, { onTag: (now) => (tag = now) })
      setTheirs(readOf(kind, thing, tag))
    } catch (gone) {
      show(refusals.ofOvertaken(gone, words.config.notSaved))
    }
  }
  const review = useMutation({
    mutationFn: () => send('true'),
    onSuccess: setPlan,
    onError: (thrown) => notDone(thrown, refusals.ofPlan(thrown, words.config.notSaved)),
  })
  const save = useMutation({
    mutationFn: () => send('false'),
    onSuccess: () => {
      setSaved(true)
      tell.done(words.admin.saved(id ?? textOf(draft, kind.id)))
      void queries.invalidateQueries()
      navigate(kind.path)
    },
    onError: (thrown) => notDone(thrown, refusals.ofChange(thrown, words.config.notSaved)),
  })
  useEffect(() => goToFirst(wrong), [wrong])

  function submit(event: FormEvent) {
    event.preventDefault()
    const empty = kind.fields.filter(
      ({ required, pointer }) => required && textOf(draft, pointer).trim() === '',
    )
    setFaults(Object.fromEntries(empty.map(({ pointer }) => [pointer, words.admin.needed])))
    setRefusal(undefined)
    if (empty.length === 0) review.mutate()
    else setWrong(empty.map(({ pointer }) => idOf(pointer)))
  }
  const shown = kind.fields.filter(({ when }) => when?.(draft) !== false)
  const sections = [...new Set(shown.map(({ section }) => section))]
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="lg">
        <PageTitle text={id ?? words.admin.create[name]} subtitle={words.menu[name]} />
        {theirs && (
          <TheirChange
            fields={differences(kind.fields, base.draft, theirs.draft).map(({ pointer, label }) => ({
              key: pointer,
              label: words.admin.fields[label],
              before: saidOf(base.draft[pointer]),
              after: saidOf(theirs.draft[pointer]),
            }))}
            take={() => {
              setDraft(theirs.draft)
              setBase(theirs)
              setTheirs(undefined)
            }}
            keep={() => {
              setDraft(merged(kind.fields, { base: base.draft, theirs, mine: draft }))
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
        {sections.map((section: SectionName) => (
          <Panel key={section} title={words.admin.sections[section]}>
            <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
              {shown
                .filter((field) => field.section === section)
                .map((field) => (
                  <FieldInput
                    key={field.pointer}
                    field={field}
                    draft={draft}
                    error={faults[field.pointer]}
                    fixed={id !== undefined && field.pointer === kind.id}
                    isStored={base.secrets.includes(field.pointer)}
                    set={(value) => {
                      setFaults(({ [field.pointer]: _gone, ...rest }) => rest)
                      setDraft((old) => ({ ...old, [field.pointer]: value }))
                    }}
                  />
                ))}
            </SimpleGrid>
          </Panel>
        ))}
        {name === 'partners' && id !== undefined && <ConnectionTestPanel contactId={id} />}
      </Stack>
      <SaveBar
        faults={Object.keys(faults).length}
        changed={changed.length > 0}
        busy={review.isPending}
        leaving={words.app.cancel}
        leave={() => navigate(kind.path)}
      />
      <PlanDialog
        plan={plan}
        busy={save.isPending}
        close={() => setPlan(undefined)}
        go={() => save.mutate()}
      />
    </form>
  )
}

function saidOf(value: Draft[string] | undefined): string {
  return typeof value === 'string' || value === undefined ? (value ?? '') : JSON.stringify(value)
}
