// A channel from nothing, or like another. What is asked for here is what a channel needs to carry files; everything else
// is in its configuration afterwards.

import type { Changed } from '../../../sdk/index.ts'
import { Button, Checkbox, Group, NativeSelect, SimpleGrid, Stack, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { FormEvent } from 'react'
import { useLocation } from 'wouter'
import { PlanDialog } from '../admin/plan-dialog.tsx'
import { DIRECTIONS } from '../../../src/contract/channel.ts'
import { useWords } from '../i18n/language.tsx'
import { useTell } from '../parts/ask.tsx'
import { labelled } from '../parts/filter-controls.tsx'
import { goToFirst, REFUSAL_ID } from '../parts/first-fault.ts'
import { LongChoice } from '../parts/long-choice.tsx'
import { Notice } from '../parts/notice.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Panel } from '../parts/panel.tsx'
import { useRefusals } from '../parts/refusal.ts'
import type { Refusal } from '../parts/refusal.ts'
import { useUnsaved } from '../parts/unsaved.ts'
import { useUrlFilter } from '../parts/url-filter.ts'
import { useSession } from '../session/session.tsx'

const EMPTY = {
  entity: '',
  contact: '',
  remote: '',
  application: '',
  name: '',
  direction: 'BIDIRECCIONAL',
  outbound: '',
  inbound: '',
  automation: '',
  every: '5m',
  cron: '',
}
type Draft = typeof EMPTY

export default function NewChannelPage() {
  const words = useWords()
  const { client } = useSession()
  const queries = useQueryClient()
  const tell = useTell()
  const refusals = useRefusals()
  const [, navigate] = useLocation()
  const from = useUrlFilter().get('from')
  const [draft, setDraft] = useState({ ...EMPTY, contact: useUrlFilter().get('contact') ?? '' })
  const [secrets, setSecrets] = useState(false)
  const [plan, setPlan] = useState<Changed>()
  const [fault, setFault] = useState<Refusal>()
  const [saved, setSaved] = useState(false)
  useUnsaved(!saved && draft.application !== '')
  const remotes = useRemotes(draft.contact)
  const code = [draft.entity, draft.remote, draft.application].join('-')
  const send = (dryRun: 'true' | 'false') =>
    from === undefined
      ? client.platform.createChannel({ body: bodyOf(code, draft) as never, dryRun }) // checked by the node's schema
      : client.platform.copyChannel({
          channelCode: from,
          body: { code, contact: draft.contact, secrets },
          dryRun,
        })
  const refused = (fault: Refusal) => {
    setPlan(undefined)
    setFault(fault)
  }
  const review = useMutation({
    mutationFn: () => send('true'),
    onSuccess: setPlan,
    onError: (thrown) => refused(refusals.ofPlan(thrown, words.config.notSaved)),
  })
  const save = useMutation({
    mutationFn: () => send('false'),
    onSuccess: () => {
      setSaved(true)
      tell.done(words.admin.saved(code))
      void queries.invalidateQueries()
      navigate(`/channels/${code}/configuration`)
    },
    onError: (thrown) => refused(refusals.ofChange(thrown, words.config.notSaved)),
  })
  useEffect(() => {
    if (fault) goToFirst([REFUSAL_ID])
  }, [fault])
  function submit(event: FormEvent) {
    event.preventDefault()
    setFault(undefined)
    review.mutate()
  }
  const put = (changes: Partial<Draft>) => setDraft((old) => ({ ...old, ...changes }))
  const set = (name: keyof Draft) => (event: { currentTarget: { value: string } }) =>
    put({ [name]: event.currentTarget.value })
  const { name, outbound, inbound, automation } = draft
  const field = words.newChannel
  return (
    <form onSubmit={submit}>
      <Stack gap="lg">
        <PageTitle text={from === undefined ? field.title : field.copyTitle(from)} subtitle={field.about} />
        {fault && (
          <Notice tone="bad" id={REFUSAL_ID} role="alert" title={fault.title}>
            {fault.text}
          </Notice>
        )}
        <Panel title={field.ends} note={draft.application && code}>
          <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
            <LongChoice
              label={field.entity}
              value={draft.entity}
              set={(entity) => put({ entity })}
              queryKey={['admin', 'entities']}
              read={client.platform.listEntities}
              option={(one) => ({ value: one.code, label: `${one.code} · ${one.name}` })}
              none={field.choose}
              required
            />
            <LongChoice
              label={field.contact}
              value={draft.contact}
              set={(contact) => put({ contact, remote: '' })}
              queryKey={['admin', 'partners']}
              read={client.platform.searchContacts}
              option={(one) => ({ value: one.id, label: one.name ?? one.id })}
              none={field.choose}
              required
            />
            <NativeSelect
              label={field.remote}
              value={draft.remote}
              onChange={set('remote')}
              required
              withAsterisk={false}
              data={[{ value: '', label: field.choose }, ...remotes]}
            />
            <TextInput
              label={field.application}
              description={field.applicationHelp}
              value={draft.application}
              onChange={set('application')}
              required
              withAsterisk={false}
            />
          </SimpleGrid>
        </Panel>
        {from === undefined ? (
          <Panel title={field.files}>
            <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
              <TextInput label={field.name} value={name} onChange={set('name')} />
              <NativeSelect
                label={field.direction}
                value={draft.direction}
                onChange={set('direction')}
                data={labelled(DIRECTIONS, words.direction)}
              />
              {draft.direction !== 'RECEPCION' && (
                <TextInput
                  label={field.outbound}
                  description={field.pathHelp}
                  value={outbound}
                  onChange={set('outbound')}
                />
              )}
              {draft.direction !== 'EMISION' && (
                <TextInput
                  label={field.inbound}
                  description={field.pathHelp}
                  value={inbound}
                  onChange={set('inbound')}
                />
              )}
              <NativeSelect
                label={field.automation}
                value={automation}
                onChange={set('automation')}
                data={Object.entries(field.automations).map(([value, label]) => ({ value, label }))}
              />
              {automation === 'every' && (
                <TextInput label={field.every} value={draft.every} onChange={set('every')} required />
              )}
              {automation === 'cron' && (
                <TextInput label={field.cron} value={draft.cron} onChange={set('cron')} required />
              )}
            </SimpleGrid>
          </Panel>
        ) : (
          <Checkbox
            label={field.secrets}
            checked={secrets}
            onChange={(event) => setSecrets(event.currentTarget.checked)}
          />
        )}
        <Group justify="flex-end">
          <Button type="submit" loading={review.isPending}>
            {words.config.review}
          </Button>
        </Group>
      </Stack>
      <PlanDialog
        plan={plan}
        busy={save.isPending}
        close={() => setPlan(undefined)}
        go={() => save.mutate()}
      />
    </form>
  )
}

/** Where the partner receives. */
function useRemotes(contactId: string): { value: string; label: string }[] {
  const { client } = useSession()
  const { data } = useQuery({
    queryKey: ['admin', 'partner', contactId],
    queryFn: ({ signal }) => client.platform.readContact({ contactId }, { signal }),
    enabled: contactId !== '',
  })
  return (data?.remoteCodes ?? []).map(({ code }) => ({ value: code, label: code }))
}

function bodyOf(code: string, draft: Draft): object {
  const { contact, name, direction, outbound, inbound, automation, every, cron } = draft
  const directories = [
    ...(outbound.trim() && direction !== 'RECEPCION'
      ? [{ direction: 'EMISION', filePath: outbound.trim() }]
      : []),
    ...(inbound.trim() && direction !== 'EMISION'
      ? [{ direction: 'RECEPCION', filePath: inbound.trim() }]
      : []),
  ]
  const byItself = { watch: { watch: true }, every: { every }, cron: { cron } }[automation]
  return {
    code,
    contact,
    direction,
    ...(name.trim() && { name: name.trim() }),
    ...(directories.length > 0 && { directories }),
    ...(byItself && { automation: byItself }),
  }
}
