// What a change would do, in the words of `esclusa apply`, before it is done.

import type { Changed } from '../../../sdk/index.ts'
import { Button, Code, Group, Modal, Stack, Text } from '@mantine/core'
import { useWords } from '../i18n/language.tsx'
import { Notice } from '../parts/notice.tsx'

type Props = { plan: Changed | undefined; busy: boolean; close(): void; go(): void }

export function PlanDialog({ plan, busy, close, go }: Props) {
  const words = useWords()
  return (
    <Modal
      opened={plan !== undefined}
      onClose={close}
      size="lg"
      title={words.config.changesTitle}
      closeButtonProps={{ 'aria-label': words.app.close }}
    >
      {plan && <Plan plan={plan} />}
      <Group justify="flex-end" mt="lg">
        <Button variant="default" onClick={close}>
          {words.app.cancel}
        </Button>
        <Button onClick={go} loading={busy} disabled={plan?.lines.length === 0} data-autofocus>
          {words.config.save}
        </Button>
      </Group>
    </Modal>
  )
}

export function Plan({ plan }: { plan: Changed }) {
  const words = useWords()
  return (
    <Stack gap="sm">
      {plan.lines.length === 0 ? (
        <Text fz="sm">{words.admin.noChange}</Text>
      ) : (
        <Code block tabIndex={0} className="plan">
          {plan.lines.join('\n')}
        </Code>
      )}
      {plan.warnings.map((warning) => (
        <Notice key={warning} tone="waiting">
          {warning}
        </Notice>
      ))}
    </Stack>
  )
}
