// Transfers of one channel as rows.

import type { Transfer } from '../../../sdk/index.ts'
import { Anchor, Table, Text } from '@mantine/core'
import { Link } from 'wouter'
import { useFormats, useWords } from '../i18n/language.tsx'
import { Direction } from '../parts/direction.tsx'
import { TransferBadge } from '../parts/status-badge.tsx'

export function TransferTable({ code, transfers }: { code: string; transfers: readonly Transfer[] }) {
  const words = useWords()
  return (
    <Table highlightOnHover className="cards-on-phone" aria-label={words.channel.transfers}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{words.channel.started}</Table.Th>
          <Table.Th>{words.channel.status}</Table.Th>
          <Table.Th>{words.channels.direction}</Table.Th>
          <Table.Th>{words.channel.files}</Table.Th>
          <Table.Th>{words.channel.size}</Table.Th>
          <Table.Th>{words.channel.duration}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {transfers.map((transfer) => (
          <TransferRow key={transfer.transferId} code={code} transfer={transfer} />
        ))}
      </Table.Tbody>
    </Table>
  )
}

function TransferRow({ code, transfer }: { code: string; transfer: Transfer }) {
  const words = useWords()
  const formats = useFormats()
  const { transferStartDateTime: started, transferEndDateTime: ended, files = [] } = transfer
  const bytes = files.reduce((sum, file) => sum + Number(file.size ?? 0), 0)
  return (
    <Table.Tr>
      <Table.Td>
        <Anchor component={Link} href={`/channels/${code}/transfers/${transfer.transferId}`} fz="sm" fw={600}>
          {started ? formats.moment(started) : words.transferStatus.PENDING}
        </Anchor>
        {transfer.type && (
          <Text fz="xs" c="dimmed">
            {words.transferType[transfer.type]}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <TransferBadge status={transfer.status ?? 'PENDING'} />
      </Table.Td>
      <Table.Td>
        <Direction way={transfer.direction} />
      </Table.Td>
      <Table.Td className="words">
        {files.length === 1 ? files[0]?.fileName : formats.number(files.length)}
      </Table.Td>
      <Table.Td className="unbroken">{formats.size(bytes)}</Table.Td>
      <Table.Td>
        {started && ended ? formats.duration(Date.parse(ended) - Date.parse(started)) : '—'}
      </Table.Td>
    </Table.Tr>
  )
}
