// The card that stands alone on a page: signing in, and the first run.

import { Button, Paper, Stack, Title } from '@mantine/core'
import { useState } from 'react'
import type { FormEvent, ReactNode } from 'react'
import { Brand } from '../parts/logo.tsx'
import { Notice } from '../parts/notice.tsx'
import { useTitle } from '../parts/page-title.tsx'
import { LanguageChoice } from '../parts/preferences.tsx'

type Props = {
  title: string
  /** What stands under the title. */
  about?: ReactNode
  /** The fields. */
  children: ReactNode
  button: string
  /** Another way to go. */
  otherwise?: ReactNode
  /** Says what is wrong, if something is. */
  send(form: FormData): Promise<string | undefined>
}

export function SignInCard({ title, about, children, button, otherwise, send }: Props) {
  useTitle(title)
  const [failed, setFailed] = useState<string>()
  const [busy, setBusy] = useState(false)
  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    setBusy(true)
    setFailed(undefined)
    const wrong = await send(form)
    if (wrong === undefined) return
    setFailed(wrong)
    setBusy(false)
  }
  return (
    <main className="sign-in">
      <Paper className="sign-in-card" shadow="sm" radius="md" p="xl" withBorder>
        <form onSubmit={(event) => void submit(event)}>
          <Stack gap="md">
            <Brand tagline />
            <Title order={1} fz="h3">
              {title}
            </Title>
            {about}
            {failed && (
              <Notice tone="bad" role="alert">
                {failed}
              </Notice>
            )}
            {children}
            <Button type="submit" loading={busy} fullWidth>
              {button}
            </Button>
            {otherwise}
            <LanguageChoice />
          </Stack>
        </form>
      </Paper>
    </main>
  )
}
