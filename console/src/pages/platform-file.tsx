// The platform as a file: a file shows the same plan as on the command line before it is applied, and the platform can be
// taken out as one.

import type { Changed } from '../../../sdk/index.ts'
import { Button, Checkbox, FileButton, Group, Stack, Text, Textarea } from '@mantine/core'
import { IconDownload, IconUpload } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Plan } from '../admin/plan-dialog.tsx'
import { BASE_PATH } from '../../../src/contract/operations.ts'
import { platformOperations } from '../../../src/contract/platform.ts'
import { useWords } from '../i18n/language.tsx'
import { useTell } from '../parts/ask.tsx'
import { Notice } from '../parts/notice.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Panel } from '../parts/panel.tsx'
import { useRefusals } from '../parts/refusal.ts'
import type { Refusal } from '../parts/refusal.ts'
import { useUnsaved } from '../parts/unsaved.ts'
import { useSession } from '../session/session.tsx'

export default function PlatformFilePage() {
  const words = useWords()
  const [secrets, setSecrets] = useState(false)
  const href = `${BASE_PATH}${platformOperations.exportPlatformFile.path}?secrets=${secrets}`
  return (
    <Stack gap="lg">
      <PageTitle text={words.menu.platformFile} subtitle={words.platformFile.about} />
      <Panel title={words.platformFile.export}>
        <Group gap="lg">
          <Button
            component="a"
            href={href}
            download="platform.yaml"
            variant="default"
            leftSection={<IconDownload size={16} aria-hidden />}
          >
            {words.platformFile.download}
          </Button>
          <Checkbox
            label={words.platformFile.withSecrets}
            checked={secrets}
            onChange={(event) => setSecrets(event.currentTarget.checked)}
          />
        </Group>
      </Panel>
      <Apply />
    </Stack>
  )
}

function Apply() {
  const words = useWords()
  const { client } = useSession()
  const queries = useQueryClient()
  const tell = useTell()
  const refusals = useRefusals()
  const [file, setFile] = useState('')
  const [prune, setPrune] = useState(false)
  const [plan, setPlan] = useState<Changed>()
  const [fault, setFault] = useState<Refusal>()
  useUnsaved(file !== '')
  const send = (dryRun: 'true' | 'false') =>
    client.platform.applyPlatformFile({ body: { file, prune }, dryRun }, { timeoutMs: 300_000 })
  const refused = (fault: Refusal) => {
    setPlan(undefined)
    setFault(fault)
  }
  const look = useMutation({
    mutationFn: () => send('true'),
    onSuccess: setPlan,
    onError: (thrown) => refused(refusals.ofPlan(thrown, words.config.notSaved)),
  })
  const apply = useMutation({
    mutationFn: () => send('false'),
    onSuccess: ({ added, changed, removed }) => {
      tell.done(words.platformFile.applied(added, changed, removed))
      setPlan(undefined)
      setFile('')
      void queries.invalidateQueries()
    },
    onError: (thrown) => refused(refusals.ofChange(thrown, words.config.notSaved)),
  })
  const edit = (text: string) => {
    setFile(text)
    setPlan(undefined)
    setFault(undefined)
  }
  return (
    <Panel title={words.platformFile.apply}>
      <Stack gap="md">
        <Group>
          <FileButton onChange={(chosen) => void chosen?.text().then(edit)} accept=".yaml,.yml,.json">
            {(button) => (
              <Button {...button} variant="default" leftSection={<IconUpload size={16} aria-hidden />}>
                {words.platformFile.choose}
              </Button>
            )}
          </FileButton>
        </Group>
        <Textarea
          label={words.platformFile.text}
          description={words.platformFile.textHelp}
          autosize
          minRows={8}
          maxRows={24}
          value={file}
          onChange={(event) => edit(event.currentTarget.value)}
          classNames={{ input: 'code' }}
          spellCheck={false}
        />
        <Checkbox
          label={words.platformFile.prune}
          checked={prune}
          onChange={(event) => {
            setPrune(event.currentTarget.checked)
            setPlan(undefined)
          }}
        />
        {fault && (
          <Notice tone="bad" role="alert" title={fault.title}>
            <Text fz="sm" className="words lines">
              {fault.text}
            </Text>
          </Notice>
        )}
        <Group>
          <Button
            variant="default"
            disabled={file === ''}
            loading={look.isPending}
            onClick={() => look.mutate()}
          >
            {words.platformFile.plan}
          </Button>
        </Group>
        {plan && (
          <>
            <Plan plan={plan} />
            <Group>
              <Button
                disabled={plan.lines.length === 0}
                loading={apply.isPending}
                onClick={() => apply.mutate()}
              >
                {words.platformFile.go}
              </Button>
            </Group>
          </>
        )}
      </Stack>
    </Panel>
  )
}
