// The way to a new partner, step by step: who it is, how it is reached, its keys, its first channel. The node shows its plan
// before it makes all of it at once; the last step tests the connection.

import {
  Button,
  Checkbox,
  Code,
  Group,
  NativeSelect,
  PasswordInput,
  SimpleGrid,
  Stack,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import type { FormEvent, ReactNode } from 'react'
import { Link } from 'wouter'
import { PlanDialog } from '../admin/plan-dialog.tsx'
import { DIRECTIONS } from '../../../src/contract/channel.ts'
import { PROTOCOLS } from '../../../src/contract/contact-settings.ts'
import { useWords } from '../i18n/language.tsx'
import { labelled } from '../parts/filter-controls.tsx'
import { goToFirst } from '../parts/first-fault.ts'
import { LongChoice } from '../parts/long-choice.tsx'
import { Notice } from '../parts/notice.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Panel } from '../parts/panel.tsx'
import { useUnsaved } from '../parts/unsaved.ts'
import { useSession } from '../session/session.tsx'
import { ConnectionTestPanel } from '../setup/connection-test.tsx'
import { KeyFile } from '../setup/key-file.tsx'
import { channelCode, EMPTY, NEW } from '../setup/partner-draft.ts'
import type { PartnerDraft } from '../setup/partner-draft.ts'
import { useMaking } from '../setup/partner-making.ts'

const STEPS = ['who', 'reach', 'keys', 'channel', 'test'] as const
type Step = (typeof STEPS)[number]
const STEP_ID = 'step'
type Part = { draft: PartnerDraft; set(change: Partial<PartnerDraft>): void }

export default function NewPartnerPage() {
  const words = useWords()
  const wizard = words.wizard
  const [draft, setDraft] = useState(EMPTY)
  const [step, setStep] = useState<Step>('who')
  const making = useMaking(draft, () => setStep('test'))
  useUnsaved(step !== 'test' && draft.id !== '')
  const set = (change: Partial<PartnerDraft>) => setDraft((old) => ({ ...old, ...change }))
  const shown = useRef(step)
  // The button that had the focus is gone with its step.
  useEffect(() => {
    if (shown.current !== step) goToFirst([STEP_ID])
    shown.current = step
  }, [step])
  const at = STEPS.indexOf(step)
  function submit(event: FormEvent) {
    event.preventDefault()
    if (step === 'channel') making.look()
    else setStep(STEPS[at + 1] ?? 'test')
  }
  const parts: Record<Exclude<Step, 'test'>, ReactNode> = {
    who: <Who draft={draft} set={set} />,
    reach: <Reach draft={draft} set={set} />,
    keys: <Keys draft={draft} set={set} />,
    channel: <FirstChannel draft={draft} set={set} />,
  }
  return (
    <Stack gap="lg">
      <PageTitle text={wizard.title} subtitle={wizard.about} />
      <ol className="steps" aria-label={wizard.stepsLabel}>
        {STEPS.map((one, index) => (
          <li key={one} aria-current={one === step ? 'step' : undefined} data-done={index < at}>
            {wizard.steps[one]}
          </li>
        ))}
      </ol>
      {making.fault && (
        <Notice tone="bad" role="alert" title={making.fault.title}>
          {making.fault.text}
          {making.written.length > 0 && (
            <>
              <Text fz="sm" mt="sm">
                {wizard.already}
              </Text>
              <Code block className="plan">
                {making.written.join('\n')}
              </Code>
            </>
          )}
        </Notice>
      )}
      {step === 'test' ? (
        <Done draft={draft} certificate={making.certificate} />
      ) : (
        <form onSubmit={submit} key={step} id={STEP_ID}>
          <Panel title={wizard.steps[step]}>
            <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
              {parts[step]}
            </SimpleGrid>
          </Panel>
          <Group justify="flex-end" mt="lg">
            {at > 0 && (
              <Button variant="default" onClick={() => setStep(STEPS[at - 1] ?? 'who')}>
                {wizard.back}
              </Button>
            )}
            <Button type="submit" loading={making.busy}>
              {step === 'channel' ? words.config.review : wizard.next}
            </Button>
          </Group>
        </form>
      )}
      <PlanDialog plan={making.plan} busy={making.busy} close={making.close} go={making.go} />
    </Stack>
  )
}

type TextProps = Part & {
  name: keyof PartnerDraft
  label: string
  help?: string | undefined
  optional?: boolean
  secret?: boolean
}

function TextField({ draft, set, name, label, help, optional = false, secret = false }: TextProps) {
  const words = useWords()
  const common = {
    label,
    description: help,
    value: draft[name],
    required: !optional,
    withAsterisk: false,
    onChange: (event: { currentTarget: { value: string } }) => set({ [name]: event.currentTarget.value }),
  }
  return secret ? (
    <PasswordInput
      {...common}
      autoComplete="new-password"
      visibilityToggleButtonProps={{ 'aria-label': words.signIn.showPassword, tabIndex: 0 }}
    />
  ) : (
    <TextInput {...common} />
  )
}

function Who(part: Part) {
  const words = useWords()
  const { fields, values } = words.admin
  const { draft, set } = part
  const valueWords: Record<string, string> = values
  return (
    <>
      <TextField {...part} name="id" label={fields.id} help={words.wizard.idHelp} />
      <TextField {...part} name="name" label={fields.name} optional />
      <TextField {...part} name="remote" label={words.newChannel.remote} help={words.wizard.remoteHelp} />
      <NativeSelect
        label={fields.protocol}
        value={draft.protocol}
        onChange={(event) => set({ protocol: event.currentTarget.value as PartnerDraft['protocol'] })}
        data={PROTOCOLS.map((one) => ({ value: one, label: valueWords[one] ?? one }))}
      />
    </>
  )
}

function Reach(part: Part) {
  const words = useWords()
  const { fields } = words.admin
  const { protocol } = part.draft
  return (
    <>
      {protocol !== 'folder' && (
        <>
          <TextField {...part} name="address" label={fields.ipAddress} />
          <TextField {...part} name="port" label={fields.port} help={words.wizard.portHelp} optional />
        </>
      )}
      {protocol === 'oftp2' && <TextField {...part} name="oftp2Id" label={fields.oftp2Id} optional />}
      {protocol === 'sftp' && <TextField {...part} name="username" label={fields.username} />}
      {protocol !== 'oftp2' && (
        <>
          <TextField {...part} name="inbox" label={fields.inbox} optional={protocol === 'sftp'} />
          <TextField {...part} name="outbox" label={fields.outbox} optional={protocol === 'sftp'} />
        </>
      )}
    </>
  )
}

function Keys(part: Part) {
  const words = useWords()
  const { wizard } = words
  const { fields } = words.admin
  const { draft, set } = part
  if (draft.protocol === 'folder') return <Text fz="sm">{wizard.noKeys}</Text>
  if (draft.protocol === 'sftp')
    return (
      <>
        <Textarea
          label={fields.hostKeys}
          description={wizard.hostKeysHelp}
          value={draft.hostKeys}
          required
          withAsterisk={false}
          autosize
          minRows={2}
          onChange={(event) => set({ hostKeys: event.currentTarget.value })}
        />
        <TextField {...part} name="password" label={fields.password} optional secret />
        <KeyFile
          label={wizard.privateKey}
          pem={draft.privateKey}
          set={(privateKey) => set({ privateKey })}
          hidden
        />
      </>
    )
  const flag = (name: 'encrypted' | 'generate', label: string) => (
    <Checkbox
      label={label}
      checked={draft[name] === 'true'}
      onChange={(event) => set({ [name]: String(event.currentTarget.checked) })}
    />
  )
  return (
    <>
      <TextField {...part} name="localKey" label={wizard.localKey} optional secret />
      <TextField {...part} name="remoteKey" label={wizard.remoteKey} optional secret />
      <KeyFile
        label={wizard.certificate}
        help={wizard.certificateHelp}
        pem={draft.certificate}
        set={(certificate) => set({ certificate })}
      />
      <Stack gap="sm">
        {flag('encrypted', wizard.encrypted)}
        {flag('generate', wizard.generate)}
      </Stack>
    </>
  )
}

function FirstChannel(part: Part) {
  const words = useWords()
  const { wizard, newChannel } = words
  const { draft, set } = part
  const { client } = useSession()
  const isNew = draft.like === ''
  return (
    <>
      <LongChoice
        label={newChannel.entity}
        value={draft.entity}
        set={(entity) => set({ entity })}
        queryKey={['admin', 'entities']}
        read={client.platform.listEntities}
        option={({ code, name }) => ({ value: code, label: `${code} · ${name}` })}
        none={newChannel.choose}
        last={{ value: NEW, label: wizard.newEntity }}
        required
      />
      <TextField
        {...part}
        name="application"
        label={newChannel.application}
        help={newChannel.applicationHelp}
      />
      {draft.entity === NEW && (
        <>
          <TextField {...part} name="entityCode" label={wizard.entityCode} />
          <TextField {...part} name="entityName" label={wizard.entityName} optional />
          {draft.protocol === 'oftp2' && (
            <TextField {...part} name="entityOftp2Id" label={wizard.entityOftp2Id} optional />
          )}
        </>
      )}
      <LongChoice
        label={wizard.like}
        value={draft.like}
        set={(like) => set({ like })}
        queryKey={['channels']}
        read={client.platform.searchChannels}
        option={({ code }) => ({ value: code, label: code })}
        none={wizard.fromNothing}
      />
      {isNew && (
        <NativeSelect
          label={newChannel.direction}
          value={draft.direction}
          onChange={(event) => set({ direction: event.currentTarget.value })}
          data={labelled(DIRECTIONS, words.direction)}
        />
      )}
      {isNew && draft.direction !== 'RECEPCION' && (
        <TextField
          {...part}
          name="outbound"
          label={newChannel.outbound}
          help={newChannel.pathHelp}
          optional
        />
      )}
      {isNew && draft.direction !== 'EMISION' && (
        <TextField {...part} name="inbound" label={newChannel.inbound} help={newChannel.pathHelp} optional />
      )}
    </>
  )
}

function Done({ draft, certificate }: { draft: PartnerDraft; certificate: string | undefined }) {
  const { wizard } = useWords()
  const code = channelCode(draft)
  return (
    <>
      <Notice tone="good" role="status" id={STEP_ID}>
        {wizard.made(draft.id, code)}
      </Notice>
      {certificate !== undefined && (
        <Panel title={wizard.ownCertificate}>
          <Textarea label={wizard.ownCertificateHelp} value={certificate} readOnly autosize maxRows={8} />
        </Panel>
      )}
      <ConnectionTestPanel contactId={draft.id.trim()} />
      <Group justify="flex-end">
        <Button component={Link} href={`/channels/${code}`}>
          {wizard.toChannel}
        </Button>
      </Group>
    </>
  )
}
