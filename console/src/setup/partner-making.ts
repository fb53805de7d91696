// Making a new partner: the node's plan, and then all of it. What one request cannot do with the rest comes last: a copy of a
// channel, a key of our own. If one of those is refused, what was made before it stays: it is named, and the next plan has
// only what is left.

import type { Changed, Client } from '../../../sdk/index.ts'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useWords } from '../i18n/language.tsx'
import { useRefusals } from '../parts/refusal.ts'
import type { Refusal } from '../parts/refusal.ts'
import { useSession } from '../session/session.tsx'
import { channelCode, keysOfCopy, platformOf } from './partner-draft.ts'
import type { PartnerDraft } from './partner-draft.ts'

/** `line` is what a plan says of it. One with the same `key` was asked for in the same words. */
type Step = { key: string; line: string; write(): Promise<unknown> }

function stepsOf(draft: PartnerDraft, client: Client, gotCertificate: (pem: string) => void): Step[] {
  const { like, protocol, generate } = draft
  const code = channelCode(draft)
  const steps: Step[] = []
  const add = (line: string, body: object, write: Step['write']) =>
    steps.push({ key: JSON.stringify([line, body]), line, write })
  if (like !== '') {
    const body = { code, contact: draft.id.trim() }
    add(`+ channel ${code} (= ${like})`, body, () => client.platform.copyChannel({ channelCode: like, body }))
    const keys = keysOfCopy(draft)
    if (keys)
      add(`~ channel ${code} (${Object.keys(keys.security).join(', ')})`, keys, () =>
        client.updateChannel({ channelCode: code, body: keys }),
      )
  }
  if (protocol === 'oftp2' && generate === 'true')
    add(`~ channel ${code} (rsaLocalKey)`, {}, async () =>
      gotCertificate((await client.platform.generateChannelKey({ channelCode: code, body: {} })).pem),
    )
  return steps
}

export function useMaking(draft: PartnerDraft, made: () => void) {
  const words = useWords()
  const refusals = useRefusals()
  const { client } = useSession()
  const queries = useQueryClient()
  const [plan, setPlan] = useState<Changed>()
  const [fault, setFault] = useState<Refusal>()
  const [certificate, setCertificate] = useState<string>()
  const [written, setWritten] = useState<{ key: string; line: string }[]>([])
  const left = stepsOf(draft, client, setCertificate).filter(
    ({ key }) => !written.some((one) => one.key === key),
  )
  const apply = (dryRun: 'true' | 'false') =>
    client.platform.applyPlatformFile({ body: { file: JSON.stringify(platformOf(draft)) }, dryRun })
  const refused = (fault: Refusal) => {
    setPlan(undefined)
    setFault(fault)
  }
  const look = useMutation({
    mutationFn: () => apply('true'),
    onSuccess: (plan) => setPlan({ ...plan, lines: [...plan.lines, ...left.map(({ line }) => line)] }),
    onError: (thrown) => refused(refusals.ofPlan(thrown, words.config.notSaved)),
  })
  const save = useMutation({
    mutationFn: async () => {
      const done = [...written]
      try {
        for (const line of (await apply('false')).lines) done.push({ key: line, line })
        for (const { key, line, write } of left) {
          await write()
          done.push({ key, line })
        }
      } catch (thrown) {
        setWritten(done)
        refused(refusals.ofChange(thrown, done.length > 0 ? words.wizard.partly : words.config.notSaved))
        throw thrown
      }
    },
    onSuccess: () => {
      setPlan(undefined)
      made()
    },
    onSettled: () => queries.invalidateQueries(),
  })
  return {
    plan,
    fault,
    /** What stays of tries that were refused later on. */
    written: written.map(({ line }) => line),
    certificate,
    busy: look.isPending || save.isPending,
    look: () => {
      setFault(undefined)
      look.mutate()
    },
    go: () => save.mutate(),
    close: () => setPlan(undefined),
  }
}
