// Received files that did not pass their checks: looked at, released or discarded.

import type { QuarantinedFileFacts } from '../../../sdk/index.ts'
import { Anchor, Button, Group, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from 'wouter'
import { BASE_PATH } from '../../../src/contract/operations.ts'
import { platformOperations } from '../../../src/contract/platform.ts'
import { QUARANTINE_STATES } from '../../../src/contract/administration/quarantine.ts'
import { useFormats, useWords } from '../i18n/language.tsx'
import { useAsk, useTell } from '../parts/ask.tsx'
import { BusyButton } from '../parts/busy-button.tsx'
import { DecisionPage } from '../parts/decision-page.tsx'
import { Reason } from '../parts/reason.tsx'
import { given } from '../parts/url-filter.ts'
import { useSession } from '../session/session.tsx'

export default function QuarantinePage() {
  const { quarantine: words } = useWords()
  const { client } = useSession()
  return (
    <DecisionPage
      name="quarantine"
      words={words}
      states={QUARANTINE_STATES}
      list={(input, options) => client.platform.listQuarantine(given(input), options)}
    >
      {(file) => <Quarantined key={file.id} file={file} />}
    </DecisionPage>
  )
}

function Quarantined({ file }: { file: QuarantinedFileFacts }) {
  const { quarantine: words } = useWords()
  const formats = useFormats()
  const { fileName, channelCode, state, opened, decidedBy, decidedAt } = file
  return (
    <li className="failure">
      <div className="failure-what">
        <Text fw={600} fz="sm" className="words">
          {fileName}
        </Text>
        <Text fz="xs" c="dimmed" component="div" className="inline-facts">
          {channelCode && (
            <Anchor component={Link} href={`/channels/${channelCode}`} fz="xs" className="code">
              {channelCode}
            </Anchor>
          )}
          <span>{formats.size(file.size)}</span>
          <span>{words.states[state]}</span>
          <time dateTime={file.quarantinedAt}>{formats.dateTime(file.quarantinedAt)}</time>
        </Text>
        {decidedBy && decidedAt && (
          <Text fz="xs" c="dimmed">
            {words.by(decidedBy, formats.dateTime(decidedAt))}
          </Text>
        )}
      </div>
      <div>
        <Reason code={file.errorCode} text={file.reason} />
        {!opened && state === 'WAITING' && <Text fz="xs">{words.cannotOpen}</Text>}
      </div>
      {state === 'WAITING' && <Decisions file={file} />}
    </li>
  )
}

function Decisions({ file: { id, fileName, opened } }: { file: QuarantinedFileFacts }) {
  const { quarantine: words } = useWords()
  const { client } = useSession()
  const queries = useQueryClient()
  const ask = useAsk()
  const tell = useTell()
  const decide = useMutation({
    mutationFn: (what: 'release' | 'discard') =>
      what === 'release'
        ? client.platform.releaseQuarantined({ fileId: id })
        : client.platform.discardQuarantined({ fileId: id }),
    onSuccess: ({ state }) =>
      tell.done(state.startsWith('RELEAS') ? words.released(fileName) : words.discarded(fileName)),
    onError: tell.refused,
    onSettled: () => queries.invalidateQueries({ queryKey: ['platform', 'quarantine'] }),
  })
  return (
    <Group gap="xs" className="failure-action">
      <Button component="a" href={contentLink(id, 'received')} download size="xs" variant="default">
        {words.received}
      </Button>
      {opened && (
        <Button component="a" href={contentLink(id, 'opened')} download size="xs" variant="default">
          {words.opened}
        </Button>
      )}
      {opened && (
        <BusyButton
          size="xs"
          busy={decide.isPending}
          onClick={() =>
            ask({
              title: words.releaseTitle,
              text: words.releaseText(fileName),
              yes: words.release,
              go: () => decide.mutate('release'),
            })
          }
        >
          {words.release}
        </BusyButton>
      )}
      <BusyButton
        size="xs"
        variant="default"
        busy={decide.isPending}
        onClick={() =>
          ask({
            title: words.discardTitle,
            text: words.discardText(fileName),
            yes: words.discard,
            danger: true,
            go: () => decide.mutate('discard'),
          })
        }
      >
        {words.discard}
      </BusyButton>
    </Group>
  )
}

/** The browser itself keeps the file: its session's cookie goes with the request. */
function contentLink(id: string, form: 'received' | 'opened'): string {
  const path = platformOperations.downloadQuarantined.path.replace('{fileId}', encodeURIComponent(id))
  return `${BASE_PATH}${path}?form=${form}`
}
