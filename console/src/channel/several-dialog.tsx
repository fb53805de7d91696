// Several failed transfers retried or reset: a question that says what will happen, then what became of each.

import type { FailedTransfer } from '../../../sdk/index.ts'
import { Anchor, Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { Link } from 'wouter'
import { useFormats, useWords } from '../i18n/language.tsx'
import { useRefusals } from '../parts/refusal.ts'
import { isSignedOut, needsLook, useSession } from '../session/session.tsx'
import { dealWith } from './several.ts'
import type { Result, SeveralAction } from './several.ts'

type Props = {
  action: SeveralAction
  failures: readonly FailedTransfer[]
  /** With what became of each; undefined if nothing was begun. */
  close(results: Result[] | undefined): void
}

export function SeveralDialog({ action, failures, close }: Props) {
  const words = useWords()
  const formats = useFormats()
  const { client, look } = useSession()
  const queries = useQueryClient()
  const [results, setResults] = useState<Result[]>([])
  const [stop] = useState(() => new AbortController())
  const status = useRef<HTMLDivElement>(null)
  const { mutate, status: stage } = useMutation({
    mutationFn: () => dealWith(failures, { action, client, stop: stop.signal, tell: setResults }),
    onSuccess: (all) => {
      if (all.some(({ outcome }) => outcome.kind === 'thrown' && needsLook(outcome.error))) void look()
    },
    onSettled: () => queries.invalidateQueries(),
  })
  // Whoever leaves the page no longer sees what becomes of the rest.
  useEffect(() => () => stop.abort(), [stop])
  // The button that had the focus is gone.
  useEffect(() => status.current?.focus(), [stage])
  const channels = new Set(failures.map(({ channelCode }) => channelCode)).size
  const count = formats.number(action === 'retry' ? failures.length : channels)
  const end = () => {
    if (stage === 'pending') stop.abort()
    else close(stage === 'idle' ? undefined : results)
  }
  const ends = { idle: words.app.cancel, pending: words.several.stop, success: words.app.close }
  return (
    <Modal
      opened
      onClose={end}
      size="lg"
      title={stage === 'success' ? words.several.results : words.several.title[action](count)}
      closeButtonProps={{ 'aria-label': words.app.close }}
    >
      <Stack gap="md">
        {stage === 'idle' ? (
          <Text fz="sm">{words.several.text[action]}</Text>
        ) : (
          <Text fz="sm" fw={600} role="status" ref={status} tabIndex={-1}>
            {stage === 'pending'
              ? words.several.under(formats.number(results.length), formats.number(failures.length))
              : summaryOf(results, words.several, action, formats.number)}
          </Text>
        )}
        {stage === 'success' && <Results results={results} action={action} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={end}>
            {stage === 'error' ? words.app.close : ends[stage]}
          </Button>
          {stage === 'idle' && (
            <Button
              onClick={() => mutate()}
              color={action === 'reset' ? 'red.9' : undefined}
              data-autofocus={action === 'retry' || undefined}
            >
              {words.channel[action]}
            </Button>
          )}
        </Group>
      </Stack>
    </Modal>
  )
}

const isDone = ({ outcome }: Result) => outcome.kind === 'done'

function summaryOf(
  results: readonly Result[],
  words: ReturnType<typeof useWords>['several'],
  action: SeveralAction,
  number: (value: number) => string,
): string {
  const done = results.filter(isDone).length
  const rest = results.length - done
  return [words.did[action](number(done)), rest > 0 && words.rest(number(rest))].filter(Boolean).join(' ')
}

/** What could not be done comes first. */
function Results({ results, action }: { results: readonly Result[]; action: SeveralAction }) {
  const sorted = [...results.filter((one) => !isDone(one)), ...results.filter(isDone)]
  const words = useWords()
  return (
    <ul className="plain-list scroll-list" aria-label={words.several.results} tabIndex={0}>
      {sorted.map((result) => (
        <li key={result.failure.transferId}>
          <Anchor
            component={Link}
            href={`/channels/${result.failure.channelCode}/transfers/${result.failure.transferId}`}
            fz="sm"
            fw={600}
            className="code words"
          >
            {result.failure.channelCode}
          </Anchor>
          <Text fz="xs" c="dimmed" className="words">
            {result.failure.fileNames.join(', ')}
          </Text>
          <Became result={result} action={action} />
        </li>
      ))}
    </ul>
  )
}

function Became({ result: { failure, outcome }, action }: { result: Result; action: SeveralAction }) {
  const words = useWords()
  const refusals = useRefusals()
  if (outcome.kind === 'done')
    return (
      <Text fz="sm">
        {action === 'retry' ? words.channel.retried : words.channel.resetDone}
        {outcome.by !== undefined && (
          <>
            {' · '}
            <Anchor
              component={Link}
              href={`/channels/${failure.channelCode}/transfers/${outcome.by}`}
              fz="sm"
              underline="always"
              aria-label={`${words.channel.follow}: ${failure.channelCode}`}
            >
              {words.channel.follow}
            </Anchor>
          </>
        )}
      </Text>
    )
  if (outcome.kind === 'untried' || (outcome.kind === 'thrown' && isSignedOut(outcome.error)))
    return <Text fz="sm">{words.several.untried}</Text>
  if (outcome.kind === 'impossible') return <Text fz="sm">{words.several.impossible[outcome.why]}</Text>
  const { title, text } = refusals.ofChange(outcome.error, words.channel.refused)
  return (
    <Text fz="sm" className="words">
      {title}: {text}
    </Text>
  )
}
