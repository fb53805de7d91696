// How far a transfer has come: live from the stream, or as last read.

import { Group, Progress, Text } from '@mantine/core'
import type { TransferStatus } from '../../../src/contract/transfer.ts'
import { isOver } from '../../../src/domain/transfer.ts'
import { useFormats, useWords } from '../i18n/language.tsx'
import { useProgress } from '../live/live.tsx'

type Props = {
  transferId: string
  status: TransferStatus
  /** As last read from the node. */
  bytes: number
  totalBytes: number
  files: number
  totalFiles: number
  label: string
}

export function TransferProgress(props: Props) {
  const words = useWords()
  const formats = useFormats()
  // What was on its way when a transfer ended was not delivered.
  const heard = useProgress(props.transferId)
  const live = isOver(props.status) ? undefined : heard
  const done = props.status === 'COMPLETED'
  const totalBytes = Math.max(live?.totalBytes ?? 0, props.totalBytes)
  const bytes = done ? totalBytes : Math.min(totalBytes, Math.max(live?.bytes ?? 0, props.bytes))
  const totalFiles = Math.max(live?.totalFiles ?? 0, props.totalFiles)
  const files = done ? totalFiles : Math.max(live?.files ?? 0, props.files)
  const share = done ? 1 : totalBytes > 0 ? bytes / totalBytes : 0
  const moving = props.status === 'IN_PROGRESS'
  const gaveUp = isOver(props.status) && !done
  return (
    <div>
      <Progress.Root size="lg" radius="xl">
        <Progress.Section
          value={share * 100}
          color={props.status === 'FAILED' ? 'red.8' : done ? 'teal.8' : 'lock'}
          animated={moving}
          aria-label={props.label}
          aria-valuetext={formats.percent(share)}
        />
      </Progress.Root>
      <Group justify="space-between" gap="xs" mt={4}>
        <Text fz="xs" c="dimmed">
          {(gaveUp ? words.transfer.delivered : words.transfer.progressOf)(
            formats.size(bytes),
            formats.size(totalBytes),
          )}
          {totalFiles > 1 &&
            ` · ${words.transfer.filesDone(formats.number(files), formats.number(totalFiles))}`}
        </Text>
        <Text fz="xs" c="dimmed">
          {moving && live && live.rate > 0 ? `${formats.rate(live.rate)} · ` : ''}
          {formats.percent(share)}
        </Text>
      </Group>
    </div>
  )
}
