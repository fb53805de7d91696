// The list of one kind of thing, with what may be done with each.

import { Anchor, Button, Stack, Table, TextInput } from '@mantine/core'
import { IconListNumbers, IconPlus, IconSearch } from '@tabler/icons-react'
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from 'wouter'
import { useFormats, useWords } from '../i18n/language.tsx'
import { useAsk, useTell } from '../parts/ask.tsx'
import { BusyButton } from '../parts/busy-button.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { PagedList } from '../parts/paged-list.tsx'
import { useSearchBox } from '../parts/search-box.ts'
import { Empty } from '../parts/states.tsx'
import { useUrlFilter } from '../parts/url-filter.ts'
import { useSession } from '../session/session.tsx'
import { isOffered, PAGES } from '../pages.ts'
import { KINDS } from './kinds.ts'
import type { Kind, KindName } from './kinds.ts'
import type { Thing } from './fields.ts'
import { SubscriptionActions } from './subscription-actions.tsx'

const SIZE = 50

export default function ThingsPage({ name }: { name: KindName }) {
  const words = useWords()
  const formats = useFormats()
  const { client, rights } = useSession()
  const kind = KINDS[name]
  const filter = useUrlFilter()
  const box = useSearchBox(filter)
  const asked = { search: filter.get('search'), page: filter.page, size: SIZE }
  const { data, error, refetch } = useQuery({
    queryKey: ['admin', name, asked],
    queryFn: ({ signal }) => kind.list(client, asked, { signal }),
    placeholderData: keepPreviousData,
  })
  const page = data && {
    content: data.things,
    empty: data.things.length === 0,
    number: data.page,
    totalPages: data.pages,
    totalElements: data.total,
  }
  return (
    <Stack gap="lg">
      <PageTitle text={words.menu[name]} subtitle={words.admin.about[name]}>
        <div className="spread" />
        {name === 'partners' && isOffered('newPartner', rights.may) && (
          <Button
            component={Link}
            href={PAGES.newPartner.path}
            leftSection={<IconListNumbers size={16} aria-hidden />}
          >
            {words.wizard.open}
          </Button>
        )}
        {rights.may(kind.may.create) && (
          <Button component={Link} href={`${kind.path}/new`} leftSection={<IconPlus size={16} aria-hidden />}>
            {words.admin.create[name]}
          </Button>
        )}
      </PageTitle>
      <div className="filters">
        <TextInput
          label={words.channels.search}
          leftSection={<IconSearch size={16} aria-hidden />}
          {...box}
        />
      </div>
      <PagedList
        query={{ data: page, error, refetch }}
        found={(total) => words.admin.found(formats.number(total))}
        empty={<Empty title={asked.search ? words.admin.noMatch : words.admin.none} />}
        go={filter.go}
      >
        {(things) => <ThingTable name={name} kind={kind} things={things} />}
      </PagedList>
    </Stack>
  )
}

function ThingTable({ name, kind, things }: { name: KindName; kind: Kind; things: readonly Thing[] }) {
  const words = useWords()
  const { rights } = useSession()
  const shown = ({ words: by, value }: Kind['columns'][number], thing: Thing) => {
    const said = value(thing)
    if (by === 'roles') return words.roles[said as keyof typeof words.roles]
    if (by === 'values') return words.admin.values[said as keyof typeof words.admin.values] ?? said
    if (by === 'yesNo') return said === 'true' ? words.app.yes : words.app.no
    return said || '—'
  }
  return (
    <Table highlightOnHover className="cards-on-phone" aria-label={words.menu[name]}>
      <Table.Thead>
        <Table.Tr>
          {kind.columns.map(({ label }) => (
            <Table.Th key={label}>{words.admin.fields[label]}</Table.Th>
          ))}
          <Table.Th>{words.admin.actions}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {things.map((thing) => {
          const id = String(thing[kind.id.slice(1)])
          const href = `${kind.path}/edit/${encodeURIComponent(id)}`
          return (
            <Table.Tr key={id}>
              {kind.columns.map((one, index) => {
                const said = shown(one, thing)
                return (
                  <Table.Td
                    key={one.label}
                    // An hour, a date or a number is read in one piece.
                    className={said.length <= 12 ? 'unbroken' : undefined}
                    data-label={index === 0 ? undefined : words.admin.fields[one.label]}
                  >
                    {index === 0 && rights.may(kind.may.change) ? (
                      <Anchor component={Link} href={href} fz="sm" fw={600}>
                        {said}
                      </Anchor>
                    ) : (
                      said
                    )}
                  </Table.Td>
                )
              })}
              <Table.Td>
                {name === 'subscriptions' && <SubscriptionActions id={id} isOff={thing.state === 'OFF'} />}
                {rights.may(kind.may.remove) && <RemoveButton name={name} kind={kind} id={id} />}
              </Table.Td>
            </Table.Tr>
          )
        })}
      </Table.Tbody>
    </Table>
  )
}

function RemoveButton({ name, kind, id }: { name: KindName; kind: Kind; id: string }) {
  const words = useWords()
  const ask = useAsk()
  const tell = useTell()
  const { client } = useSession()
  const queries = useQueryClient()
  const { mutate, isPending } = useMutation({
    mutationFn: () => kind.remove(client, id, { dryRun: 'false' }),
    onSuccess: () => {
      tell.done(words.admin.removed(id))
      void queries.invalidateQueries()
    },
    onError: tell.refused,
  })
  const question = {
    title: words.admin.removeTitle(id),
    text: words.admin.removeText[name],
    yes: words.admin.remove,
    danger: true,
    go: () => mutate(),
  }
  return (
    <BusyButton
      size="xs"
      variant="default"
      busy={isPending}
      aria-label={`${words.admin.remove}: ${id}`}
      onClick={() => ask(question)}
    >
      {words.admin.remove}
    </BusyButton>
  )
}
