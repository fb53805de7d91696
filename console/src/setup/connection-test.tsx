// The connection to a partner, tried step by step by the node: what was seen, and what to do.

import type { ConnectionTest } from '../../../sdk/index.ts'
import { Button, Stack, Table, Text } from '@mantine/core'
import { IconPlugConnected } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { useFormats, useWords } from '../i18n/language.tsx'
import { Facts } from '../parts/facts.tsx'
import { Notice } from '../parts/notice.tsx'
import { Panel } from '../parts/panel.tsx'
import { useSession } from '../session/session.tsx'

/** Several addresses may each take a while to say nothing. */
const PATIENCE_MS = 300_000
const TONES = { OK: 'good', FAILED: 'bad', SKIPPED: 'off' } as const

export function ConnectionTestPanel({ contactId }: { contactId: string }) {
  const { connectionTest: words } = useWords()
  const { client, rights } = useSession()
  const { mutate, data, error, isPending } = useMutation({
    mutationFn: () => client.platform.testContact({ contactId }, { timeoutMs: PATIENCE_MS }),
  })
  if (!rights.may('testContact')) return null
  const button = (
    <Button
      variant="default"
      loading={isPending}
      leftSection={<IconPlugConnected size={16} aria-hidden />}
      onClick={() => mutate()}
    >
      {words.button}
    </Button>
  )
  return (
    <Panel title={words.title} action={button}>
      <Stack gap="md">
        <Text fz="sm">{words.about}</Text>
        {error && (
          <Notice tone="bad" role="alert">
            {error.message}
          </Notice>
        )}
        {data && (
          <Notice tone={data.ok ? 'good' : 'bad'} role="status">
            {data.ok ? words.good : words.bad}
          </Notice>
        )}
        {data?.ways.map((way) => (
          <Way key={`${way.address} ${way.channels.join()}`} way={way} />
        ))}
      </Stack>
    </Panel>
  )
}

function Way({ way }: { way: ConnectionTest['ways'][number] }) {
  const { connectionTest: words, app } = useWords()
  const formats = useFormats()
  const { address, channels, certificate, steps } = way
  return (
    <div>
      <Text fz="sm" fw={600} className="code words">
        {[address, ...channels].filter(Boolean).join(' · ')}
      </Text>
      {certificate && (
        <Facts
          facts={[
            [words.subject, certificate.subject],
            [words.issuer, certificate.issuer],
            [words.daysLeft, formats.number(certificate.daysLeft)],
            [words.pinned, certificate.pinned ? app.yes : app.no],
            [
              words.fingerprint,
              <span key="print" className="code words">
                {certificate.fingerprint}
              </span>,
            ],
          ]}
        />
      )}
      <Table className="cards-on-phone" aria-label={words.title}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{words.step}</Table.Th>
            <Table.Th>{words.outcome}</Table.Th>
            <Table.Th>{words.seen}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {steps.map(({ step, outcome, seen, advice }, index) => (
            // Steps have no name of their own: rights are tried in several folders.
            <Table.Tr key={index}>
              <Table.Td>{words.steps[step]}</Table.Td>
              <Table.Td>
                <span className="badge" data-tone={TONES[outcome]}>
                  {words.outcomes[outcome]}
                </span>
              </Table.Td>
              <Table.Td>
                <Text fz="sm" className="words">
                  {seen}
                </Text>
                {advice && (
                  <Text fz="sm" c={outcome === 'FAILED' ? undefined : 'dimmed'}>
                    {words.advice[advice]}
                  </Text>
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  )
}
