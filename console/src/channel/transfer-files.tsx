// The files of one transfer, some at a time: a transfer may have thousands, and a page of all of them takes seconds.

import type { Transfer, TransferFacts } from '../../../sdk/index.ts'
import { Anchor, CopyButton, Table, Text, TextInput, UnstyledButton, VisuallyHidden } from '@mantine/core'
import { IconCheck, IconCopy, IconSearch } from '@tabler/icons-react'
import { useState } from 'react'
import { BASE_PATH } from '../../../src/contract/operations.ts'
import { PHASES_AFTER_ARRIVAL } from '../../../src/contract/platform.ts'
import { useFormats, useWords } from '../i18n/language.tsx'
import { Pager } from '../parts/pager.tsx'
import { Panel } from '../parts/panel.tsx'
import { Empty } from '../parts/states.tsx'
import { useSession } from '../session/session.tsx'

const SIZE = 200

export function TransferFiles({ transfer, facts }: { transfer: Transfer; facts: TransferFacts }) {
  const words = useWords()
  const formats = useFormats()
  const [search, setSearch] = useState('')
  const [page, setPage] = useState(1)
  const files = transfer.files ?? []
  const sought = search.trim().toLowerCase()
  const found = files
    .map((file, index) => ({ file, index }))
    .filter(({ file }) => sought === '' || file.fileName?.toLowerCase().includes(sought))
  const { actions } = words.transfer
  const { rights } = useSession()
  const canDownload = transfer.direction === 'RECEPCION' && rights.may('downloadFile')
  const gaveUp = transfer.status === 'FAILED' || transfer.status === 'CANCELLED'
  return (
    <Panel title={words.transfer.files} note={formats.number(files.length)}>
      {files.length > SIZE && (
        <TextInput
          type="search"
          label={words.transfers.fileName}
          leftSection={<IconSearch size={16} aria-hidden />}
          value={search}
          onChange={(event) => {
            setSearch(event.currentTarget.value)
            setPage(1)
          }}
          maw={360}
          mb="md"
        />
      )}
      {files.length > 0 && found.length === 0 && <Empty title={words.transfer.noFile} />}
      <Table className="cards-on-phone" aria-label={words.transfer.files}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{words.transfer.file}</Table.Th>
            <Table.Th>{words.transfer.size}</Table.Th>
            <Table.Th>{words.transfer.state}</Table.Th>
            <Table.Th>{words.transfer.hash}</Table.Th>
            <Table.Th>{words.transfer.afterwards}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {found.slice((page - 1) * SIZE, page * SIZE).map(({ file, index }) => {
            const progress = facts.files[index]
            const receipt = progress && words.transfer.receipts[progress.receipt]
            const action =
              file.actionPost && file.actionPost in actions
                ? actions[file.actionPost as keyof typeof actions]
                : file.actionPost
            return (
              <Table.Tr key={file.path ?? index}>
                <Table.Td>
                  <Text fz="sm" fw={600} className="words">
                    {file.fileName}
                  </Text>
                  <Text fz="xs" c="dimmed" className="words">
                    {file.path}
                  </Text>
                  {canDownload && file.path && (
                    <Anchor
                      href={contentLink(transfer, index)}
                      download
                      fz="sm"
                      aria-label={`${words.transferActions.download}: ${file.fileName}`}
                    >
                      {words.transferActions.download}
                    </Anchor>
                  )}
                </Table.Td>
                <Table.Td className="unbroken">
                  {file.size !== undefined ? formats.size(Number(file.size)) : '—'}
                </Table.Td>
                <Table.Td>
                  {progress &&
                    (gaveUp && !PHASES_AFTER_ARRIVAL.has(progress.phase)
                      ? words.transfer.notArrived
                      : words.transfer.phase[progress.phase])}
                  {receipt && (
                    <Text fz="xs" c="dimmed" className="words">
                      {progress.receiptReason ? `${receipt}: ${progress.receiptReason}` : receipt}
                    </Text>
                  )}
                </Table.Td>
                <Table.Td>{file.hash ? <Hash value={file.hash.replace('sha256:', '')} /> : '—'}</Table.Td>
                <Table.Td>
                  {action ?? '—'}
                  {file.filePathPost && (
                    <Text fz="xs" c="dimmed" className="words">
                      {file.filePathPost}
                    </Text>
                  )}
                </Table.Td>
              </Table.Tr>
            )
          })}
        </Table.Tbody>
      </Table>
      <Pager page={page} pages={Math.ceil(found.length / SIZE)} go={setPage} />
    </Panel>
  )
}

/** The browser itself keeps the file: its session's cookie goes with the request. */
function contentLink({ channelCode = '', transferId = '' }: Transfer, index: number): string {
  return `${BASE_PATH}/platform/v1/channels/${channelCode}/transfers/${transferId}/files/${index}/content`
}

function Hash({ value }: { value: string }) {
  const words = useWords()
  return (
    <CopyButton value={value}>
      {({ copied, copy }) => (
        <UnstyledButton className="hash" onClick={copy} title={value}>
          <span className="code">{`${value.slice(0, 12)}…`}</span>
          <VisuallyHidden>{`${copied ? words.transfer.copied : words.transfer.copyHash}: ${value}`}</VisuallyHidden>
          {copied ? <IconCheck size={14} aria-hidden /> : <IconCopy size={14} aria-hidden />}
        </UnstyledButton>
      )}
    </CopyButton>
  )
}
