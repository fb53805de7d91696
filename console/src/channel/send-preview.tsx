// Which files a send would take, shown before it is confirmed.

import { Loader, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useFormats, useWords } from '../i18n/language.tsx'
import { Notice } from '../parts/notice.tsx'
import { useRefusals } from '../parts/refusal.ts'
import { useSession } from '../session/session.tsx'

const SHOWN = 20

export function SendPreview({ code }: { code: string }) {
  const words = useWords()
  const formats = useFormats()
  const { client } = useSession()
  const { textOf } = useRefusals()
  const { data, error } = useQuery({
    queryKey: ['channel', code, 'send-preview'],
    queryFn: ({ signal }) => client.platform.previewSend({ channelCode: code }, { signal }),
    staleTime: 0,
    gcTime: 0,
  })
  if (error) return <Text fz="sm">{textOf(error)}</Text>
  if (!data) return <Loader size="sm" />
  if (data.refusal !== undefined) return <Notice tone="waiting">{data.refusal}</Notice>
  return (
    <div>
      <Text fz="sm" fw={600} mt="sm">
        {words.transferActions.willGo(formats.number(data.total), formats.size(data.bytes))}
      </Text>
      <ul className="preview">
        {data.files.slice(0, SHOWN).map(({ path, fileName, size }) => (
          <li key={path} className="words">
            {fileName} · {formats.size(size)}
          </li>
        ))}
      </ul>
      {data.total > SHOWN && (
        <Text fz="xs" c="dimmed">
          {words.transfers.moreFiles(formats.number(data.total - SHOWN))}
        </Text>
      )}
    </div>
  )
}
