// A key or certificate taken from a file of this computer, or pasted; the node says what it is before it is used.

import type { KeyFacts } from '../../../sdk/index.ts'
import { Text, Textarea } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useFormats, useWords } from '../i18n/language.tsx'
import { Facts } from '../parts/facts.tsx'
import { useSession } from '../session/session.tsx'

type Props = { label: string; help?: string; pem: string; set(pem: string): void; hidden?: boolean }

/** `hidden`: what is private is not shown again once it was chosen. */
export function KeyFile({ label, help, pem, set, hidden = false }: Props) {
  const { keyFile: words } = useWords()
  return (
    <div>
      {!hidden && (
        <Textarea
          label={label}
          description={help}
          value={pem}
          autosize
          minRows={2}
          maxRows={6}
          onChange={(event) => set(event.currentTarget.value)}
        />
      )}
      <label className="file-choice">
        <span>{hidden ? label : words.fromFile(label)}</span>
        <input
          type="file"
          onChange={(event) => {
            const [file] = event.currentTarget.files ?? []
            void file?.text().then(set)
          }}
        />
      </label>
      {pem.trim() !== '' && <KeySeen pem={pem} />}
    </div>
  )
}

function KeySeen({ pem }: { pem: string }) {
  const { keyFile: words } = useWords()
  const { client, rights } = useSession()
  const { data, error } = useQuery({
    queryKey: ['key', pem],
    queryFn: ({ signal }) => client.platform.inspectKey({ body: { pem } }, { signal }),
    enabled: rights.may('inspectKey'),
    gcTime: 0,
    retry: false,
  })
  if (error)
    return (
      <Text fz="sm" c="var(--mantine-color-error)" role="alert">
        {words.unreadable}
      </Text>
    )
  return data ? <KeySummary facts={data} /> : null
}

export function KeySummary({ facts }: { facts: KeyFacts }) {
  const { keyFile: words } = useWords()
  const formats = useFormats()
  const { subject, issuer, validTo, fingerprint, algorithm, bits } = facts
  const days = validTo && Math.floor((Date.parse(validTo) - Date.now()) / 86_400_000)
  return (
    <Facts
      facts={[
        [words.subject, subject],
        [words.issuer, issuer],
        [words.daysLeft, days !== undefined && days !== '' && formats.number(days)],
        [words.kind, [algorithm, bits].filter(Boolean).join(' ')],
        [
          words.fingerprint,
          <span key="print" className="code words">
            {fingerprint}
          </span>,
        ],
      ]}
    />
  )
}
