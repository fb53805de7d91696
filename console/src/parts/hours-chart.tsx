// The last 24 hours as bars, or as the table behind them.

import type { Overview } from '../../../sdk/index.ts'
import { Button, Group, SegmentedControl, Table, Text } from '@mantine/core'
import { useState } from 'react'
import { useFormats, useWords } from '../i18n/language.tsx'
import { Panel } from './panel.tsx'

type Hours = NonNullable<Overview['hours']>
type Measure = 'transfers' | 'bytes'

const WIDTH = 600
const HEIGHT = 190
const BASE = 160

export function HoursChart({ hours }: { hours: Hours }) {
  const words = useWords()
  const [measure, setMeasure] = useState<Measure>('transfers')
  const [asTable, setAsTable] = useState(false)
  const choice = (
    <SegmentedControl
      size="xs"
      aria-label={words.overview.hours}
      value={measure}
      onChange={(value) => setMeasure(value)}
      data={[
        { value: 'transfers', label: words.overview.transfers },
        { value: 'bytes', label: words.overview.bytes },
      ]}
    />
  )
  return (
    <Panel title={words.overview.hours} action={asTable ? undefined : choice}>
      {asTable ? <HoursTable hours={hours} /> : <Bars hours={hours} measure={measure} />}
      <Group justify="flex-end" mt="xs">
        <Button size="compact-xs" variant="subtle" onClick={() => setAsTable(!asTable)}>
          {asTable ? words.overview.asChart : words.overview.asTable}
        </Button>
      </Group>
    </Panel>
  )
}

function Bars({ hours, measure }: { hours: Hours; measure: Measure }) {
  const words = useWords()
  const formats = useFormats()
  const sum = (field: 'completed' | 'failed' | 'bytes') =>
    hours.reduce((total, hour) => total + hour[field], 0)
  const most = Math.max(
    1,
    ...hours.map((hour) => (measure === 'bytes' ? hour.bytes : hour.completed + hour.failed)),
  )
  const height = (value: number) => (value === 0 ? 0 : Math.max(3, (value / most) * (BASE - 24)))
  const step = WIDTH / hours.length
  const show = (value: number) => (measure === 'bytes' ? formats.size(value) : formats.number(value))
  return (
    <>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        className="chart"
        role="img"
        aria-label={words.overview.chartLabel(
          formats.number(sum('completed')),
          formats.number(sum('failed')),
          formats.size(sum('bytes')),
        )}
      >
        <line x1="0" x2={WIDTH} y1={BASE} y2={BASE} className="chart-axis" />
        <line x1="0" x2={WIDTH} y1="24" y2="24" className="chart-grid" />
        <text x="0" y="17" className="chart-text">
          {show(most)}
        </text>
        {hours.map((hour, index) => {
          const good = height(measure === 'bytes' ? hour.bytes : hour.completed)
          const bad = measure === 'bytes' ? 0 : height(hour.failed)
          const x = index * step + step * 0.14
          const bar = { x, width: step * 0.72, rx: 2 }
          return (
            <g key={hour.from}>
              <title>{`${formats.hour(hour.from)}: ${show(measure === 'bytes' ? hour.bytes : hour.completed)}${hour.failed ? `, ${words.overview.failed} ${hour.failed}` : ''}`}</title>
              <rect x={index * step} y="0" width={step} height={BASE} className="chart-hit" />
              <rect {...bar} y={BASE - good} height={good} className="chart-good" />
              <rect {...bar} y={BASE - good - bad - (bad ? 1 : 0)} height={bad} className="chart-bad" />
              {index % 6 === 0 && (
                <text x={index * step} y={HEIGHT - 12} className="chart-text">
                  {formats.hour(hour.from)}
                </text>
              )}
            </g>
          )
        })}
      </svg>
      <Group gap="lg" mt="xs">
        <Legend tone="good" label={words.overview.completed} value={formats.number(sum('completed'))} />
        <Legend tone="bad" label={words.overview.failed} value={formats.number(sum('failed'))} />
        <Text fz="sm" c="dimmed">
          {formats.size(sum('bytes'))}
        </Text>
      </Group>
    </>
  )
}

function Legend({ tone, label, value }: { tone: 'good' | 'bad'; label: string; value: string }) {
  return (
    <span className="legend" data-tone={tone}>
      {label} <b>{value}</b>
    </span>
  )
}

function HoursTable({ hours }: { hours: Hours }) {
  const words = useWords()
  const formats = useFormats()
  const columns = [
    words.overview.hour,
    words.overview.completed,
    words.overview.failed,
    words.overview.cancelled,
    words.overview.bytes,
  ]
  return (
    <div className="scroll-table" tabIndex={0} role="region" aria-label={words.overview.hours}>
      <Table verticalSpacing={4}>
        <Table.Thead>
          <Table.Tr>
            {columns.map((column) => (
              <Table.Th key={column}>{column}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {hours.toReversed().map((hour) => (
            <Table.Tr key={hour.from}>
              <Table.Td>{formats.moment(hour.from)}</Table.Td>
              <Table.Td>{formats.number(hour.completed)}</Table.Td>
              <Table.Td>{formats.number(hour.failed)}</Table.Td>
              <Table.Td>{formats.number(hour.cancelled)}</Table.Td>
              <Table.Td>{formats.size(hour.bytes)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  )
}
