// Making a new partner: the node's plan, and then all of it. What one request cannot do with the rest comes last: a copy of a
// channel, a key of our own. If one of those is refused, what was made before it stays: it is named, and the next plan has
// only what is left. Where an answer was lost, the next plan looks first whether it was done.

import type { Changed, Client } from '../../../sdk/index.ts'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useWords } from '../i18n/language.tsx'
import { isFromNode, useRefusals } from '../parts/refusal.ts'
import type { Refusal } from '../parts/refusal.ts'
import { useSession } from '../session/session.tsx'
import { channelCode, keysOfCopy, platformOf } from './partner-draft.ts'
import type { PartnerDraft } from './partner-draft.ts'

/** `line` is what a plan says of it. One with the same `key` was asked for in the same words. */
type Step = {
  key: string
  line: string
  write(): Promise<unknown>
  /** Whether it was done all the same; what can be repeated has none. */
  isDone?: () => Promise<boolean>
}

function stepsOf(draft: PartnerDraft, client: Client, gotCertificate: (pem: string) => void): Step[] {
  const { like, protocol, generate } = draft
  const code = channelCode(draft)
  const steps: Step[] = []
  const add = (line: string, body: object, rest: Pick<Step, 'write' | 'isDone'>) =>
    steps.push({ key: JSON.stringify([line, body]), line, ...rest })
  if (like !== '') {
    const body = { code, contact: draft.id.trim() }
    add(`+ channel ${code} (= ${like})`, body, {
      write: () => client.platform.copyChannel({ channelCode: like, body }),
      isDone: async () => {
        const { content } = await client.platform.searchChannels({ search: code, size: 1000 })
        return content.some((channel) => channel.code === code && channel.contactId === body.contact)
      },
    })
    const keys = keysOfCopy(draft)
    if (keys)
      add(`~ channel ${code} (${Object.keys(keys.security).join(', ')})`, keys, {
        write: () => client.updateChannel({ channelCode: code, body: keys }),
      })
  }
  if (protocol === 'oftp2' && generate === 'true')
    add(
      `~ channel ${code} (rsaLocalKey)`,
      {},
      {
        write: async () =>
          gotCertificate((await client.platform.generateChannelKey({ channelCode: code, body: {} })).pem),
        isDone: async () => {
          const { local } = await client.platform.channelKeys({ channelCode: code })
          if (local) gotCertificate(local.pem)
          return local !== undefined
        },
      },
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
  /** Of the step whose answer was lost. */
  const [unsure, setUnsure] = useState<string>()
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
    mutationFn: async () => {
      const plan = await apply('true')
      const lost = left.find(({ key }) => key === unsure)
      const isDone = await lost?.isDone?.()
      if (lost && isDone) setWritten([...written, lost])
      const steps = isDone ? left.filter((one) => one !== lost) : left
      return { ...plan, lines: [...plan.lines, ...steps.map(({ line }) => line)] }
    },
    onSuccess: (plan) => {
      // All of it is there: a plan of nothing could not be saved.
      if (plan.lines.length === 0) made()
      else setPlan(plan)
    },
    onError: (thrown) => refused(refusals.ofPlan(thrown, words.config.notSaved)),
  })
  const save = useMutation({
    mutationFn: async () => {
      const done = [...written]
      let under: string | undefined
      try {
        for (const line of (await apply('false')).lines) done.push({ key: line, line })
        for (const { key, line, write } of left) {
          under = key
          await write()
          done.push({ key, line })
        }
      } catch (thrown) {
        setWritten(done)
        setUnsure(isFromNode(thrown) ? undefined : under)
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
