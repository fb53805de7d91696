// What the node keeps of a channel beside the interface's configuration: how long its transfers and history stay, and what a
// received file may become when it is opened.

import type { ChannelSetup } from '../../../sdk/index.ts'
import { Button, Group, SimpleGrid, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { FormEvent } from 'react'
import { useWords } from '../i18n/language.tsx'
import { useTell } from '../parts/ask.tsx'
import { Panel } from '../parts/panel.tsx'
import { useSession } from '../session/session.tsx'

export function ChannelSetupPanel({ code }: { code: string }) {
  const { client } = useSession()
  const { data } = useQuery({
    queryKey: ['channel', code, 'setup-form'],
    queryFn: async ({ signal }) => {
      let tag: string | undefined
      const setup = await client.platform.channelSetup(
        { channelCode: code },
        { signal, onTag: (read) => (tag = read) },
      )
      return { setup, tag }
    },
    refetchOnWindowFocus: false,
  })
  return data ? <SetupForm key={data.setup.revision} setup={data.setup} tag={data.tag} /> : null
}

/** As it goes to the node, which says what is wrong with it: a number where it is one, null where there is nothing. */
function numberOf(text: string): number | null {
  return text.trim() === '' ? null : Number(text)
}

function SetupForm({ setup, tag }: { setup: ChannelSetup; tag: string | undefined }) {
  const { channelSetup: words, config } = useWords()
  const { client } = useSession()
  const tell = useTell()
  const queries = useQueryClient()
  const before = {
    transfers: String(setup.keep?.transfersDays ?? ''),
    history: String(setup.keep?.historyDays ?? ''),
    opened: String(setup.maxOpenedMegabytes ?? ''),
  }
  const [draft, setDraft] = useState(before)
  const { mutate, isPending } = useMutation({
    mutationFn: () => {
      const transfersDays = numberOf(draft.transfers)
      const historyDays = numberOf(draft.history)
      const keep = {
        ...(transfersDays !== null && { transfersDays }),
        ...(historyDays !== null && { historyDays }),
      }
      return client.platform.changeChannelSetup(
        { channelCode: setup.code, body: { keep, maxOpenedMegabytes: numberOf(draft.opened) } },
        { ifMatch: tag },
      )
    },
    onSuccess: () => {
      tell.done(words.saved)
      return queries.invalidateQueries()
    },
    // What was refused is corrected and saved at once: that does not wait until the page is read anew.
    onError: (thrown) => {
      tell.refused(thrown)
      void queries.invalidateQueries()
    },
  })
  function submit(event: FormEvent) {
    event.preventDefault()
    mutate()
  }
  const field = (name: keyof typeof before) => (
    <TextInput
      label={words[name]}
      description={words.unset[name]}
      inputMode="numeric"
      value={draft[name]}
      onChange={(event) => {
        const { value } = event.currentTarget
        setDraft((old) => ({ ...old, [name]: value }))
      }}
    />
  )
  return (
    <form onSubmit={submit}>
      <Panel title={words.title}>
        <SimpleGrid cols={{ base: 1, md: 3 }} spacing="lg">
          {field('transfers')}
          {field('history')}
          {field('opened')}
        </SimpleGrid>
        <Group justify="flex-end" mt="md">
          <Button
            type="submit"
            variant="default"
            loading={isPending}
            disabled={JSON.stringify(before) === JSON.stringify(draft)}
          >
            {config.save}
          </Button>
        </Group>
      </Panel>
    </form>
  )
}
