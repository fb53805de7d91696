// Five minutes before the session ends, a line says so and offers to sign in again with the password.

import { Button, Group, Modal, PasswordInput, Stack, Text } from '@mantine/core'
import { IconClockHour9 } from '@tabler/icons-react'
import { useEffect, useState } from 'react'
import type { FormEvent } from 'react'
import { useWords } from '../i18n/language.tsx'
import { Notice } from '../parts/notice.tsx'
import { useSession } from './session.tsx'
import { reasonOf, textIn } from './sign-in.tsx'

const WARN_MS = 5 * 60_000
const MINUTE_MS = 60_000

export function ExpiryWarning() {
  const words = useWords()
  const { expiresAt } = useSession()
  const left = useTimeLeft(expiresAt)
  const [asking, setAsking] = useState(false)
  if (left > WARN_MS) return null
  return (
    <Notice tone="waiting" icon={<IconClockHour9 size={20} aria-hidden />} role="status">
      <Group justify="space-between" gap="sm">
        <Text fz="sm">{words.signIn.warning(Math.max(1, Math.round(left / MINUTE_MS)))}</Text>
        <Button size="xs" variant="default" onClick={() => setAsking(true)}>
          {words.signIn.renew}
        </Button>
      </Group>
      <Modal
        opened={asking}
        onClose={() => setAsking(false)}
        title={words.signIn.renewTitle}
        closeButtonProps={{ 'aria-label': words.app.close }}
      >
        <RenewForm done={() => setAsking(false)} />
      </Modal>
    </Notice>
  )
}

function RenewForm({ done }: { done(): void }) {
  const words = useWords()
  const { renew } = useSession()
  const [failed, setFailed] = useState<string>()
  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    try {
      await renew(textIn(new FormData(event.currentTarget), 'password'))
      done()
    } catch (thrown) {
      setFailed(reasonOf(thrown, words))
    }
  }
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Stack>
        <Text fz="sm">{words.signIn.renewHelp}</Text>
        <PasswordInput
          name="password"
          label={words.signIn.password}
          autoComplete="current-password"
          visibilityToggleButtonProps={{ 'aria-label': words.signIn.showPassword, tabIndex: 0 }}
          error={failed}
          data-autofocus
          required
          withAsterisk={false}
        />
        <Group justify="flex-end">
          <Button variant="default" onClick={done}>
            {words.signIn.again}
          </Button>
          <Button type="submit">{words.signIn.submit}</Button>
        </Group>
      </Stack>
    </form>
  )
}

function useTimeLeft(until: number): number {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 5_000)
    return () => clearInterval(timer)
  }, [])
  return until - now
}
