// Why a transfer waits and until when; and automation that waits after failures.

import type { AutomaticPause, Overview, Waiting } from '../../../sdk/index.ts'
import { Anchor, Text } from '@mantine/core'
import { Link } from 'wouter'
import { useFormats, useWords } from '../i18n/language.tsx'
import { Notice } from './notice.tsx'
import { Panel } from './panel.tsx'

export function WaitingText({ waiting }: { waiting: Waiting }) {
  const { waiting: words } = useWords()
  const formats = useFormats()
  const { reason, until } = waiting
  return (
    <span className="words">
      {words.reason[reason]}
      {until && (
        <>
          {', '}
          <time dateTime={until} title={formats.dateTime(until)}>
            {words.until(formats.moment(until))}
          </time>
        </>
      )}
    </span>
  )
}

function PauseText({ code, pause }: { code: string; pause: AutomaticPause }) {
  const { waiting: words, transfer } = useWords()
  const formats = useFormats()
  return (
    <>
      <Text fz="sm">{words.pause.until(formats.moment(pause.until), formats.number(pause.failures))}</Text>
      {pause.error && (
        <Text fz="sm" c="dimmed" className="words">
          {pause.error}
        </Text>
      )}
      {pause.transferId && (
        <Anchor component={Link} href={`/channels/${code}/transfers/${pause.transferId}`} fz="sm">
          {transfer.open}
        </Anchor>
      )}
    </>
  )
}

export function PauseNotice({ code, pause }: { code: string; pause: AutomaticPause }) {
  const { waiting: words } = useWords()
  return (
    <Notice tone="waiting" title={words.pause.title}>
      <PauseText code={code} pause={pause} />
      <Text fz="xs" c="dimmed">
        {words.pause.ends}
      </Text>
    </Notice>
  )
}

export function Pauses({ pauses }: { pauses: NonNullable<Overview['pauses']> }) {
  const { waiting: words } = useWords()
  const formats = useFormats()
  return (
    <Panel title={words.pause.list} note={formats.number(pauses.length)}>
      <ul className="plain-list">
        {pauses.map((pause) => (
          <li key={pause.channelCode}>
            <Anchor
              component={Link}
              href={`/channels/${pause.channelCode}`}
              fw={600}
              fz="sm"
              className="code words"
            >
              {pause.channelCode}
            </Anchor>
            <PauseText code={pause.channelCode} pause={pause} />
          </li>
        ))}
      </ul>
    </Panel>
  )
}
