// Failed transfers with their reason, and a retry button if a retry is possible; where several can be chosen, a box for each
// that is still open.

import type { FailedTransfer } from '../../../sdk/index.ts'
import { Anchor, Checkbox, Text } from '@mantine/core'
import { Link } from 'wouter'
import { ActionButton } from '../channel/actions.tsx'
import type { Choice } from '../channel/choice.tsx'
import { isOpen } from '../channel/several.ts'
import { useFormats, useWords } from '../i18n/language.tsx'
import { Direction } from './direction.tsx'
import { Reason } from './reason.tsx'

type Props = { failures: readonly FailedTransfer[]; choice?: Choice | undefined }

export function FailureList({ failures, choice }: Props) {
  const words = useWords()
  const formats = useFormats()
  return (
    <ul className="plain-list">
      {failures.map((failure) => (
        <li key={failure.transferId} className="failure" data-choice={choice !== undefined}>
          {choice && (
            <div className="failure-choice">
              {isOpen(failure) && (
                <Checkbox
                  aria-label={words.several.one(failure.channelCode, formats.moment(failure.endedAt))}
                  checked={choice.has(failure)}
                  onChange={(event) => choice.set(failure, event.currentTarget.checked)}
                />
              )}
            </div>
          )}
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
