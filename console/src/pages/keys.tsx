// Keys that partners have proposed: compared by their fingerprints, accepted or refused.

import type { ProposedKey } from '../../../sdk/index.ts'
import { Anchor, Group, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { KEY_STATES } from '../../../src/contract/administration/keys.ts'
import { useFormats, useWords } from '../i18n/language.tsx'
import { useAsk, useTell } from '../parts/ask.tsx'
import { BusyButton } from '../parts/busy-button.tsx'
import { DecisionPage } from '../parts/decision-page.tsx'
import { given } from '../parts/url-filter.ts'
import { useSession } from '../session/session.tsx'

export default function KeysPage() {
  const { keys: words } = useWords()
  const { client } = useSession()
  return (
    <DecisionPage
      name="proposed-keys"
      words={words}
      states={KEY_STATES}
      list={(input, options) => client.platform.listProposedKeys(given(input), options)}
    >
      {(key) => <Proposed key={key.id} proposed={key} />}
    </DecisionPage>
  )
}

function Proposed({ proposed }: { proposed: ProposedKey }) {
  const { keys: words, quarantine } = useWords()
  const formats = useFormats()
  const { contactId, contactName, channelCode, state, subject, validTo, decidedBy, decidedAt } = proposed
  return (
    <li className="failure">
      <div className="failure-what">
        <Text fw={600} fz="sm" className="words">
          {contactName ?? contactId}
        </Text>
        <Text fz="xs" c="dimmed" component="div" className="inline-facts">
          <Anchor component={Link} href={`/channels/${channelCode}`} fz="xs" className="code">
            {channelCode}
          </Anchor>
          <span>{words.states[state]}</span>
          <time dateTime={proposed.receivedAt}>{formats.dateTime(proposed.receivedAt)}</time>
        </Text>
        {decidedBy && decidedAt && (
          <Text fz="xs" c="dimmed">
            {quarantine.by(decidedBy, formats.dateTime(decidedAt))}
          </Text>
        )}
      </div>
      <div>
        {subject && (
          <Text fz="sm" className="words">
            {subject}
          </Text>
        )}
        {validTo && <Text fz="xs">{words.validTo(formats.dateTime(validTo))}</Text>}
        <Text fz="xs">{words.fingerprint}</Text>
        <Text fz="xs" className="code words">
          {inGroups(proposed.fingerprint)}
        </Text>
      </div>
      {state === 'WAITING' && <Decisions proposed={proposed} />}
    </li>
  )
}

/** Easier to read out. */
function inGroups(fingerprint: string): string {
  return fingerprint.replaceAll(/(.{4})(?=.)/g, '$1 ')
}

function plain(text: string): string {
  return text
    .replace(/^sha256:/i, '')
    .replaceAll(/[: ]/g, '')
    .toLowerCase()
}

function Decisions({ proposed: { id, contactId, contactName, fingerprint } }: { proposed: ProposedKey }) {
  const { keys: words } = useWords()
  const { client } = useSession()
  const queries = useQueryClient()
  const ask = useAsk()
  const tell = useTell()
  const [told, setTold] = useState('')
  const isSame = plain(told) === fingerprint
  const decide = useMutation({
    mutationFn: async (what: 'accept' | 'refuse') => {
      if (what === 'accept')
        await client.platform.acceptProposedKey({ keyId: id, body: { fingerprint: plain(told) } })
      else await client.platform.refuseProposedKey({ keyId: id })
      return what
    },
    onSuccess: (what) => tell.done(what === 'accept' ? words.accepted : words.refused),
    onError: tell.refused,
    onSettled: () => queries.invalidateQueries(),
  })
  return (
    <Stack gap="xs">
      <TextInput
        label={words.told}
        value={told}
        onChange={(event) => setTold(event.currentTarget.value)}
        error={plain(told).length >= 64 && !isSame ? words.toldFault : undefined}
      />
      <Group gap="xs">
        <BusyButton
          size="xs"
          disabled={!isSame}
          busy={decide.isPending}
          onClick={() =>
            ask({
              title: words.acceptTitle,
              text: words.acceptText(contactName ?? contactId),
              yes: words.accept,
              go: () => decide.mutate('accept'),
            })
          }
        >
          {words.accept}
        </BusyButton>
        <BusyButton
          size="xs"
          variant="default"
          busy={decide.isPending}
          onClick={() =>
            ask({
              title: words.refuseTitle,
              text: words.refuseText,
              yes: words.refuse,
              danger: true,
              go: () => decide.mutate('refuse'),
            })
          }
        >
          {words.refuse}
        </BusyButton>
      </Group>
    </Stack>
  )
}
