// Tokens for systems: made, shown once, and taken back.

import type { SystemToken } from '../../../sdk/index.ts'
import { Button, Code, Group, NumberInput, Stack, Table, Text, TextInput } from '@mantine/core'
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { FormEvent } from 'react'
import { MOST_TOKEN_HOURS } from '../../../src/contract/administration/tokens.ts'
import { useFormats, useWords } from '../i18n/language.tsx'
import { useAsk, useTell } from '../parts/ask.tsx'
import { BusyButton } from '../parts/busy-button.tsx'
import { Notice } from '../parts/notice.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { PagedList } from '../parts/paged-list.tsx'
import { useRefusals } from '../parts/refusal.ts'
import { Panel } from '../parts/panel.tsx'
import { Empty } from '../parts/states.tsx'
import { useUrlFilter } from '../parts/url-filter.ts'
import { useSession } from '../session/session.tsx'
import { textIn } from '../session/sign-in.tsx'

const SIZE = 50

export default function TokensPage() {
  const words = useWords()
  const formats = useFormats()
  const { client, rights } = useSession()
  const filter = useUrlFilter()
  const asked = { page: filter.page, size: SIZE }
  const query = useQuery({
    queryKey: ['admin', 'tokens', asked],
    queryFn: ({ signal }) => client.platform.listTokens(asked, { signal }),
    placeholderData: keepPreviousData,
  })
  return (
    <Stack gap="lg">
      <PageTitle text={words.menu.tokens} subtitle={words.tokens.about} />
      {rights.may('createToken') && <NewToken />}
      <PagedList
        query={query}
        found={(total) => words.admin.found(formats.number(total))}
        empty={<Empty title={words.admin.none} />}
        go={filter.go}
      >
        {(tokens) => <TokenTable tokens={tokens} />}
      </PagedList>
    </Stack>
  )
}

function NewToken() {
  const words = useWords()
  const { client } = useSession()
  const queries = useQueryClient()
  const refusals = useRefusals()
  const [hours, setHours] = useState<number | string>(24)
  const make = useMutation({
    mutationFn: (body: { user: string; name?: string; hours: number }) =>
      client.platform.createToken({ body }),
    onSuccess: () => void queries.invalidateQueries({ queryKey: ['admin', 'tokens'] }),
  })
  const refusal = make.error && refusals.ofChange(make.error, words.channel.refused)
  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const name = textIn(form, 'name').trim()
    make.mutate({ user: textIn(form, 'user').trim(), ...(name && { name }), hours: Number(hours) })
  }
  return (
    <Panel title={words.tokens.make}>
      <form onSubmit={submit}>
        <Group align="flex-end" gap="md">
          <TextInput name="user" label={words.tokens.user} required withAsterisk={false} />
          <TextInput name="name" label={words.tokens.name} />
          <NumberInput
            label={words.tokens.hours}
            value={hours}
            onChange={setHours}
            min={1}
            max={MOST_TOKEN_HOURS}
            hideControls
          />
          <Button type="submit" loading={make.isPending}>
            {words.tokens.make}
          </Button>
        </Group>
      </form>
      {refusal && (
        <Notice tone="bad" role="alert" title={refusal.title}>
          {refusal.text}
        </Notice>
      )}
      {make.data && (
        <Notice tone="good" role="status" title={words.tokens.made}>
          <Text fz="sm" mb="xs">
            {words.tokens.once}
          </Text>
          <Code block tabIndex={0} className="plan">
            {make.data.token}
          </Code>
        </Notice>
      )}
    </Panel>
  )
}

function TokenTable({ tokens }: { tokens: readonly SystemToken[] }) {
  const words = useWords()
  const formats = useFormats()
  return (
    <Table className="cards-on-phone" aria-label={words.menu.tokens}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{words.tokens.name}</Table.Th>
          <Table.Th>{words.tokens.user}</Table.Th>
          <Table.Th>{words.tokens.state}</Table.Th>
          <Table.Th>{words.tokens.expires}</Table.Th>
          <Table.Th>{words.tokens.used}</Table.Th>
          <Table.Th>{words.admin.actions}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {tokens.map((token) => (
          <Table.Tr key={token.id}>
            <Table.Td>{token.name}</Table.Td>
            <Table.Td>{token.user || '—'}</Table.Td>
            <Table.Td>{words.tokens.states[token.state]}</Table.Td>
            <Table.Td>{formats.dateTime(token.expiresAt)}</Table.Td>
            <Table.Td>{token.lastUsedAt ? formats.dateTime(token.lastUsedAt) : words.app.never}</Table.Td>
            <Table.Td>{token.state === 'VALID' && <RevokeButton token={token} />}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}

function RevokeButton({ token }: { token: SystemToken }) {
  const words = useWords()
  const ask = useAsk()
  const tell = useTell()
  const { client, rights } = useSession()
  const queries = useQueryClient()
  const { mutate, isPending } = useMutation({
    mutationFn: () => client.platform.revokeToken({ tokenId: token.id }),
    onSuccess: () => {
      tell.done(words.tokens.revoked)
      void queries.invalidateQueries({ queryKey: ['admin', 'tokens'] })
    },
    onError: tell.refused,
  })
  if (!rights.may('revokeToken')) return null
  const question = {
    title: words.tokens.revokeTitle(token.name),
    text: words.tokens.revokeText,
    yes: words.tokens.revoke,
    danger: true,
    go: () => mutate(),
  }
  return (
    <BusyButton
      size="xs"
      variant="default"
      busy={isPending}
      aria-label={`${words.tokens.revoke}: ${token.name}`}
      onClick={() => ask(question)}
    >
      {words.tokens.revoke}
    </BusyButton>
  )
}
