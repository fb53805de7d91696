// Failed transfers with their reason, and a retry button if a retry is possible.

import type { FailedTransfer } from '../../../sdk/index.ts'
import { Anchor, Text } from '@mantine/core'
import { Link } from 'wouter'
import { ActionButton } from '../channel/actions.tsx'
import { useFormats, useWords } from '../i18n/language.tsx'
import { Direction } from './direction.tsx'
import { Reason } from './reason.tsx'

export function FailureList({ failures }: { failures: readonly FailedTransfer[] }) {
  const words = useWords()
  const formats = useFormats()
  return (
    <ul className="plain-list">
      {failures.map((failure) => (
        <li key={failure.transferId} className="failure">
          <div className="failure-what">
            <Anchor
              component={Link}
              href={`/channels/${failure.channelCode}/transfers/${failure.transferId}`}
              fw={600}
              fz="sm"
              className="code"
            >
              {failure.channelCode}
            </Anchor>
            {failure.fileNames.length > 0 && <Text fz="sm">{failure.fileNames.join(', ')}</Text>}
            <Text fz="xs" c="dimmed" component="div" className="inline-facts">
              <Direction way={failure.direction} />
              {failure.channelName && <span>{failure.channelName}</span>}
              <time dateTime={failure.endedAt} title={formats.dateTime(failure.endedAt)}>
                {formats.moment(failure.endedAt)}
              </time>
            </Text>
          </div>
          <Reason code={failure.errorCode} text={failure.error} />
          <div className="failure-action">
            {failure.retry === 'POSSIBLE' ? (
              <ActionButton action="retry" code={failure.channelCode} size="xs" />
            ) : (
              <Text fz="xs" c="dimmed">
                {words.retry[failure.retry]}
              </Text>
            )}
          </div>
        </li>
      ))}
    </ul>
  )
}
