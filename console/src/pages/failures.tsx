// Failures across channels, as far back as a week.

import { NativeSelect, Stack, TextInput } from '@mantine/core'
import { IconCircleCheck, IconSearch } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { ChoiceBar, useChoice } from '../channel/choice.tsx'
import { useFormats, useWords } from '../i18n/language.tsx'
import { useLive } from '../live/live.tsx'
import { among } from '../parts/filter-controls.tsx'
import { FailureList } from '../parts/failure-list.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { PagedList } from '../parts/paged-list.tsx'
import { useSearchBox } from '../parts/search-box.ts'
import { Empty } from '../parts/states.tsx'
import { given, useUrlFilter } from '../parts/url-filter.ts'
import { useSession } from '../session/session.tsx'

const SIZE = 25
const HOURS = ['24', '72', '168'] as const

export default function FailuresPage() {
  const words = useWords()
  const formats = useFormats()
  const { client, rights } = useSession()
  const { pollMs } = useLive()
  const filter = useUrlFilter()
  const box = useSearchBox(filter)
  const asked = {
    search: filter.get('search'),
    hours: Number(among(HOURS, filter.get('hours')) ?? 24),
  }
  const input = { ...asked, page: filter.page, size: SIZE }
  const choice = useChoice(JSON.stringify(asked))
  const mayDeal = rights.may('retryTransfer') || rights.may('resetChannel')
  const query = useQuery({
    queryKey: ['platform', 'failures', input],
    queryFn: ({ signal }) => client.platform.failedTransfers(given(input), { signal }),
    placeholderData: keepPreviousData,
    refetchInterval: pollMs,
  })
  return (
    <Stack gap="lg">
      <PageTitle text={words.failures.title} />
      <div className="filters">
        <TextInput
          label={words.channels.search}
          placeholder={words.failures.searchHint}
          leftSection={<IconSearch size={16} aria-hidden />}
          {...box}
        />
        <NativeSelect
          label={words.failures.span}
          value={String(input.hours)}
          onChange={(event) => filter.set({ hours: event.currentTarget.value })}
          data={Object.entries(words.failures.hours).map(([value, label]) => ({ value, label }))}
        />
      </div>
      <PagedList
        query={query}
        found={(total) => words.failures.found(formats.number(total))}
        empty={
          input.search === undefined ? (
            <Empty
              icon={<IconCircleCheck size={28} stroke={1.5} />}
              title={words.failures.none}
              help={words.failures.noneHelp}
            />
          ) : (
            <Empty title={words.failures.noMatch} help={words.failures.noMatchHelp} />
          )
        }
        go={filter.go}
      >
        {(failures) => (
          <>
            {mayDeal && (
              <ChoiceBar
                choice={choice}
                shown={failures}
                more={(query.data?.totalPages ?? 0) > 1}
                read={(page, size) => client.platform.failedTransfers(given({ ...asked, page, size }))}
              />
            )}
            <FailureList failures={failures} choice={mayDeal ? choice : undefined} />
          </>
        )}
      </PagedList>
    </Stack>
  )
}
