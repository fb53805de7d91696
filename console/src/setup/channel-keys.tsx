// The keys of one channel: ours with the certificate that the partner must have, and the partner's. Whoever may makes a new
// one of ours here, and is told before what it replaces.

import type { KeyFacts } from '../../../sdk/index.ts'
import { SimpleGrid, Stack, Text, Textarea, Title } from '@mantine/core'
import { IconKey } from '@tabler/icons-react'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useWords } from '../i18n/language.tsx'
import { useAsk, useTell } from '../parts/ask.tsx'
import { BusyButton } from '../parts/busy-button.tsx'
import { Panel } from '../parts/panel.tsx'
import { Failed } from '../parts/states.tsx'
import { useSession } from '../session/session.tsx'
import { KeySummary } from './key-file.tsx'

export function ChannelKeysPanel({ code }: { code: string }) {
  const { keyList: words, wizard } = useWords()
  const { client, rights } = useSession()
  const queries = useQueryClient()
  const ask = useAsk()
  const tell = useTell()
  const maySee = rights.may('channelKeys')
  const { data, error, refetch } = useQuery({
    queryKey: ['channel', code, 'keys'],
    queryFn: ({ signal }) => client.platform.channelKeys({ channelCode: code }, { signal }),
    enabled: maySee,
  })
  const {
    mutate,
    isPending,
    data: made,
  } = useMutation({
    mutationFn: (replace: boolean) =>
      client.platform.generateChannelKey({ channelCode: code, body: { replace } }),
    onSuccess: () => tell.done(words.made(code)),
    onError: tell.refused,
    onSettled: () => queries.invalidateQueries(),
  })
  if (error && !data) return <Failed error={error} again={() => void refetch()} />
  if (maySee && !data) return null
  const local = data ? data.local : made
  // Who may not see whether there is one is asked about both.
  const replaces = !maySee || local !== undefined
  const replaced = maySee ? words.replaces(local?.subject ?? '', local?.fingerprint ?? '') : words.mayReplace
  const make = (
    <BusyButton
      variant="default"
      busy={isPending}
      leftSection={<IconKey size={16} aria-hidden />}
      onClick={() =>
        ask({
          title: words.makeTitle(code),
          text: replaces ? `${replaced} ${words.makeText}` : words.makeText,
          yes: words.make,
          danger: replaces,
          go: () => mutate(replaces),
        })
      }
    >
      {words.make}
    </BusyButton>
  )
  return (
    <Panel title={words.ofChannel} action={rights.may('generateChannelKey') && make}>
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
        {(maySee || local) && (
          <KeySide title={words.sides.LOCAL} facts={local}>
            {local?.pem && (
              <Textarea
                label={wizard.ownCertificate}
                description={wizard.ownCertificateHelp}
                value={local.pem}
                readOnly
                autosize
                maxRows={8}
              />
            )}
          </KeySide>
        )}
        {maySee && <KeySide title={words.sides.REMOTE} facts={data?.remote} />}
      </SimpleGrid>
    </Panel>
  )
}

type SideProps = { title: string; facts: KeyFacts | undefined; children?: ReactNode }

function KeySide({ title, facts, children }: SideProps) {
  const { keyList: words } = useWords()
  return (
    <Stack gap="sm">
      <Title order={3} fz="sm">
        {title}
      </Title>
      {facts?.unreadable !== undefined ? (
        <Text fz="sm">{words.unreadable}</Text>
      ) : facts ? (
        <KeySummary facts={facts} />
      ) : (
        <Text fz="sm">{words.noneHere}</Text>
      )}
      {children}
    </Stack>
  )
}
