// What is expected today, what became of it, and who is no longer told of events.

import type { Overview } from '../../../sdk/index.ts'
import { Anchor, Text } from '@mantine/core'
import { IconCircleCheck } from '@tabler/icons-react'
import { Link } from 'wouter'
import { EXPECTATION_STATES } from '../../../src/contract/notifications.ts'
import { useFormats, useWords } from '../i18n/language.tsx'
import { Direction } from './direction.tsx'
import { Panel } from './panel.tsx'
import { Empty } from './states.tsx'
import { ExpectationBadge } from './status-badge.tsx'

export function ExpectedToday({ expectations }: { expectations: NonNullable<Overview['expectations']> }) {
  const words = useWords()
  const formats = useFormats()
  const { byState, days } = expectations
  const { expectedFiles, moreThanExpected } = words.overview
  const filesOf = ({ count, atLeast }: (typeof days)[number]) =>
    (count > atLeast ? moreThanExpected : expectedFiles)(formats.number(count), formats.number(atLeast))
  const note = EXPECTATION_STATES.filter((state) => byState[state] > 0)
    .map((state) => `${formats.number(byState[state])} ${words.expectationState[state].toLowerCase()}`)
    .join(', ')
  return (
    <Panel title={words.overview.expected} note={note}>
      {days.length === 0 ? (
        <Empty icon={<IconCircleCheck size={28} stroke={1.5} />} title={words.overview.nothingExpected} />
      ) : (
        <ul className="plain-list scroll-list" tabIndex={0} aria-label={words.overview.expected}>
          {days.map((day) => (
            <li key={`${day.expectation} ${day.day}`}>
              <div className="row-head">
                <Anchor
                  component={Link}
                  href={`/channels/${day.channelCode}`}
                  fw={600}
                  fz="sm"
                  className="code"
                >
                  {day.channelCode}
                </Anchor>
                <ExpectationBadge state={day.state} />
              </div>
              <Text fz="xs" c="dimmed" component="div" className="inline-facts">
                <Direction way={day.direction} />
                <span>{day.expectation}</span>
                {day.files !== undefined && <span className="code">{day.files}</span>}
                <span>{filesOf(day)}</span>
                <span>{words.overview.expectedBy(formats.moment(day.by))}</span>
                {day.acknowledgedBy !== undefined && (
                  <span>{words.overview.acknowledgedBy(day.acknowledgedBy)}</span>
                )}
              </Text>
              {day.comment !== undefined && (
                <Text fz="xs" c="dimmed" className="words">
                  {day.comment}
                </Text>
              )}
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}

export function SubscriptionsOff({
  subscriptions,
}: {
  subscriptions: NonNullable<Overview['subscriptionsOff']>
}) {
  const words = useWords()
  const formats = useFormats()
  return (
    <Panel title={words.overview.subscriptionsOff} note={formats.number(subscriptions.length)}>
      <ul className="plain-list">
        {subscriptions.map(({ id, offAt, reason }) => (
          <li key={id}>
            <div className="row-head">
              <Text fw={600} fz="sm">
                {id}
              </Text>
              {offAt !== undefined && (
                <Text fz="sm" c="dimmed">
                  {formats.relative(offAt)}
                </Text>
              )}
            </div>
            {reason !== undefined && (
              <Text fz="xs" c="dimmed" className="words">
                {reason}
              </Text>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  )
}
