// Keys and certificates that channels use: whose they are, how long they last, which channels use them. A new one is taken
// from a file, looked at, and set on a channel.

import type { KeyInUse } from '../../../sdk/index.ts'
import { Anchor, Button, Group, NativeSelect, Stack, Table, Text, TextInput } from '@mantine/core'
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { FormEvent } from 'react'
import { Link } from 'wouter'
import { useFormats, useWords } from '../i18n/language.tsx'
import { useTell } from '../parts/ask.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { PagedList } from '../parts/paged-list.tsx'
import { Panel } from '../parts/panel.tsx'
import { Empty } from '../parts/states.tsx'
import { useUrlFilter } from '../parts/url-filter.ts'
import { useSession } from '../session/session.tsx'
import { KeyFile } from '../setup/key-file.tsx'

const SIZE = 50
const SOON_DAYS = 30

export default function KeyListPage() {
  const { keyList: words, menu } = useWords()
  const formats = useFormats()
  const { client, rights } = useSession()
  const filter = useUrlFilter()
  const asked = { page: filter.page, size: SIZE }
  const query = useQuery({
    queryKey: ['keys', asked],
    queryFn: ({ signal }) => client.platform.listKeys(asked, { signal }),
    placeholderData: keepPreviousData,
  })
  return (
    <Stack gap="lg">
      <PageTitle text={menu.keyList} subtitle={words.about} />
      <PagedList
        query={query}
        found={(total) => words.found(formats.number(total))}
        empty={<Empty title={words.none} />}
        go={filter.go}
      >
        {(keys) => <KeyTable keys={keys} />}
      </PagedList>
      {rights.may('updateChannel') && rights.may('inspectKey') && <SetKey />}
    </Stack>
  )
}

function KeyTable({ keys }: { keys: readonly KeyInUse[] }) {
  const { keyList: words, keyFile } = useWords()
  const formats = useFormats()
  return (
    <Table className="cards-on-phone" aria-label={words.about}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{words.whose}</Table.Th>
          <Table.Th>{keyFile.subject}</Table.Th>
          <Table.Th>{keyFile.daysLeft}</Table.Th>
          <Table.Th>{keyFile.fingerprint}</Table.Th>
          <Table.Th>{words.channels}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {keys.map(
          ({
            side,
            fingerprint,
            name,
            subject,
            issuer,
            daysLeft,
            algorithm,
            bits,
            channels,
            channelCount,
            unreadable,
          }) => (
            <Table.Tr key={`${side} ${fingerprint}`}>
              <Table.Td>
                {words.sides[side]}
                {name && (
                  <Text fz="xs" c="dimmed" className="words">
                    {name}
                  </Text>
                )}
              </Table.Td>
              <Table.Td className="words">
                {unreadable === undefined ? (subject ?? `${algorithm} ${bits ?? ''}`) : words.unreadable}
                {issuer && issuer !== subject && (
                  <Text fz="xs" c="dimmed">
                    {words.issuedBy(issuer)}
                  </Text>
                )}
              </Table.Td>
              <Table.Td>
                {daysLeft === undefined ? (
                  '—'
                ) : (
                  <span
                    className="badge"
                    data-tone={daysLeft < 0 ? 'bad' : daysLeft < SOON_DAYS ? 'waiting' : 'good'}
                  >
                    {daysLeft < 0 ? words.ended : formats.number(daysLeft)}
                  </span>
                )}
              </Table.Td>
              <Table.Td>
                <Text fz="xs" className="code words fingerprint">
                  {fingerprint.replaceAll(/(.{8})(?=.)/g, '$1 ')}
                </Text>
              </Table.Td>
              <Table.Td>
                {channels.slice(0, 10).map((code) => (
                  <Anchor
                    key={code}
                    component={Link}
                    href={`/channels/${code}`}
                    fz="sm"
                    className="code block-link"
                  >
                    {code}
                  </Anchor>
                ))}
                {channelCount > 10 && <Text fz="xs">{words.more(formats.number(channelCount - 10))}</Text>}
              </Table.Td>
            </Table.Tr>
          ),
        )}
      </Table.Tbody>
    </Table>
  )
}

function SetKey() {
  const { keyList: words, newChannel } = useWords()
  const { client } = useSession()
  const tell = useTell()
  const queries = useQueryClient()
  const [code, setCode] = useState('')
  const [side, setSide] = useState<'LOCAL' | 'REMOTE'>('REMOTE')
  const [name, setName] = useState('')
  const [pem, setPem] = useState('')
  const { mutate, isPending } = useMutation({
    mutationFn: () => {
      const label = name.trim()
      const security =
        side === 'LOCAL'
          ? { rsaLocalKey: pem, ...(label && { rsaLocalKeyName: label }) }
          : { rsaRemoteKey: pem, ...(label && { rsaRemoteKeyName: label }) }
      return client.updateChannel({ channelCode: code.trim(), body: { security } })
    },
    onSuccess: () => {
      tell.done(words.wasSet(code.trim()))
      setPem('')
      void queries.invalidateQueries()
    },
    onError: tell.refused,
  })
  function submit(event: FormEvent) {
    event.preventDefault()
    mutate()
  }
  return (
    <form onSubmit={submit}>
      <Panel title={words.setTitle}>
        <Stack gap="md">
          <TextInput
            label={words.channel}
            value={code}
            required
            withAsterisk={false}
            onChange={(event) => setCode(event.currentTarget.value)}
          />
          <NativeSelect
            label={words.whose}
            value={side}
            onChange={(event) => setSide(event.currentTarget.value === 'LOCAL' ? 'LOCAL' : 'REMOTE')}
            data={[
              { value: 'REMOTE', label: words.sides.REMOTE },
              { value: 'LOCAL', label: words.sides.LOCAL },
            ]}
          />
          <TextInput
            label={newChannel.name}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <KeyFile label={words.key} pem={pem} set={setPem} />
          <Group justify="flex-end">
            <Button type="submit" loading={isPending} disabled={pem.trim() === ''}>
              {words.save}
            </Button>
          </Group>
        </Stack>
      </Panel>
    </form>
  )
}
