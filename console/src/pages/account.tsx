// One's own account: who one is, the language, the password, and where one is signed in.

import { ClientError } from '../../../sdk/index.ts'
import type { OwnSession } from '../../../sdk/index.ts'
import { Button, Group, NativeSelect, PasswordInput, SimpleGrid, Stack, Table, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { FormEvent } from 'react'
import { LANGUAGES, useFormats, useLanguage, useWords } from '../i18n/language.tsx'
import type { Language } from '../i18n/language.tsx'
import { useAsk, useTell } from '../parts/ask.tsx'
import { useRefusals } from '../parts/refusal.ts'
import { Facts } from '../parts/facts.tsx'
import { Notice } from '../parts/notice.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Panel } from '../parts/panel.tsx'
import { Failed, Loading } from '../parts/states.tsx'
import { browserName } from '../session/browser-name.ts'
import { useSession } from '../session/session.tsx'
import { textIn } from '../session/sign-in.tsx'
import { AUTHS } from '../../../src/contract/user.ts'

export default function AccountPage() {
  const words = useWords()
  return (
    <Stack gap="lg">
      <PageTitle text={words.account.title} />
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
        <Who />
        <PasswordPanel />
      </SimpleGrid>
      <Sessions />
    </Stack>
  )
}

function Who() {
  const words = useWords()
  const { user, client, refresh } = useSession()
  const { language, choose } = useLanguage()
  const tell = useTell()
  const save = useMutation({
    mutationFn: (wanted: Language) => client.platform.changeOwnLanguage({ body: { language: wanted } }),
    onSuccess: (session, wanted) => {
      choose(wanted)
      refresh(session)
      tell.done(LANGUAGES[wanted].account.languageSaved)
    },
    onError: tell.refused,
  })
  const flags = AUTHS.filter((name) => user.auths[name]).map((name) => words.account.flags[name])
  return (
    <Panel title={words.account.who}>
      <Facts
        facts={[
          [words.account.username, user.username],
          [words.account.email, user.email],
          [words.account.role, words.roles[user.role]],
          [words.account.may, flags.join(', ') || words.account.nothing],
        ]}
      />
      <NativeSelect
        mt="lg"
        label={words.account.language}
        description={words.account.languageHelp}
        value={language}
        disabled={save.isPending}
        onChange={(event) => save.mutate(event.currentTarget.value as Language)}
        data={Object.entries(LANGUAGES).map(([value, { languageName }]) => ({ value, label: languageName }))}
      />
    </Panel>
  )
}

function PasswordPanel() {
  const words = useWords()
  const { client, refresh } = useSession()
  const queries = useQueryClient()
  const tell = useTell()
  const refusals = useRefusals()
  const [fault, setFault] = useState<string>()
  const save = useMutation({
    mutationFn: (body: { current: string; password: string }) => client.platform.changeOwnPassword({ body }),
    onSuccess: (session) => {
      refresh(session)
      tell.done(words.account.changed)
      void queries.invalidateQueries({ queryKey: ['sessions'] })
    },
    onError: (thrown) => {
      const wrong = thrown instanceof ClientError && thrown.message.startsWith('/current')
      const { title, text } = refusals.ofChange(thrown, '')
      setFault(wrong ? words.account.wrong : `${title} ${text}`.trim())
    },
  })
  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const element = event.currentTarget
    const form = new FormData(element)
    const password = textIn(form, 'password')
    if (password !== textIn(form, 'again')) return setFault(words.account.notTheSame)
    setFault(undefined)
    save.mutate({ current: textIn(form, 'current'), password }, { onSuccess: () => element.reset() })
  }
  const field = (name: string, label: string, autoComplete: string, description?: string) => (
    <PasswordInput
      name={name}
      label={label}
      description={description}
      autoComplete={autoComplete}
      visibilityToggleButtonProps={{ 'aria-label': words.signIn.showPassword, tabIndex: 0 }}
      required
      withAsterisk={false}
    />
  )
  return (
    <Panel title={words.account.password}>
      <form onSubmit={submit}>
        <Stack gap="sm">
          {field('current', words.account.current, 'current-password')}
          {field('password', words.account.next, 'new-password', words.account.passwordHelp)}
          {field('again', words.account.again, 'new-password')}
          {fault && (
            <Notice tone="bad" role="alert">
              {fault}
            </Notice>
          )}
          <Text fz="xs" c="dimmed">
            {words.account.changeHelp}
          </Text>
          <Group>
            <Button type="submit" loading={save.isPending}>
              {words.account.change}
            </Button>
          </Group>
        </Stack>
      </form>
    </Panel>
  )
}

function Sessions() {
  const words = useWords()
  const ask = useAsk()
  const { client, signOut } = useSession()
  const { data, error } = useQuery({
    queryKey: ['sessions'],
    queryFn: ({ signal }) => client.platform.listOwnSessions({}, { signal }),
  })
  const tell = useTell()
  const everywhere = useMutation({
    mutationFn: () => client.platform.endOwnSessions(),
    onSuccess: signOut,
    onError: tell.refused,
  })
  return (
    <Panel
      title={words.account.sessions}
      action={
        <Button
          variant="default"
          onClick={() =>
            ask({
              title: words.account.everywhereTitle,
              text: words.account.everywhereText,
              yes: words.account.everywhere,
              go: () => everywhere.mutate(),
            })
          }
        >
          {words.account.everywhere}
        </Button>
      }
    >
      {data ? <SessionTable sessions={data.sessions} /> : error ? <Failed error={error} /> : <Loading />}
    </Panel>
  )
}

function SessionTable({ sessions }: { sessions: readonly OwnSession[] }) {
  const words = useWords()
  const formats = useFormats()
  const { client } = useSession()
  const queries = useQueryClient()
  const tell = useTell()
  const end = useMutation({
    mutationFn: (sessionId: string) => client.platform.endOwnSession({ sessionId }),
    onSuccess: () => {
      tell.done(words.account.ended)
      void queries.invalidateQueries({ queryKey: ['sessions'] })
    },
    onError: tell.refused,
  })
  return (
    <Table className="cards-on-phone" aria-label={words.account.sessions}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{words.account.browser}</Table.Th>
          <Table.Th>{words.account.from}</Table.Th>
          <Table.Th>{words.account.opened}</Table.Th>
          <Table.Th>{words.account.seen}</Table.Th>
          <Table.Th>{words.account.end}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {sessions.map(({ id, current, agent, from, createdAt, seenAt }) => (
          <Table.Tr key={id}>
            <Table.Td className="words" title={agent}>
              {agent === undefined ? '—' : browserName(agent)}
            </Table.Td>
            <Table.Td className="unbroken">{from ?? '—'}</Table.Td>
            <Table.Td data-label={words.account.opened}>{formats.moment(createdAt)}</Table.Td>
            <Table.Td data-label={words.account.seen}>{formats.moment(seenAt)}</Table.Td>
            <Table.Td>
              {current ? (
                words.account.thisOne
              ) : (
                <Button
                  size="xs"
                  variant="default"
                  aria-label={words.account.endOf(from ?? id)}
                  onClick={() => end.mutate(id)}
                >
                  {words.account.end}
                </Button>
              )}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}
