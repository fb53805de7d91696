// The sign-in page. It is also shown when a session has ended. The address stays, so the next session goes on at the
// same page.

import { ClientError } from '../../../sdk/index.ts'
import { Button, Paper, PasswordInput, Stack, TextInput, Title } from '@mantine/core'
import { useState } from 'react'
import type { FormEvent } from 'react'
import type { Words } from '../i18n/en.ts'
import { useWords } from '../i18n/language.tsx'
import { LanguageChoice } from '../parts/preferences.tsx'
import { Notice } from '../parts/notice.tsx'
import { Brand } from '../parts/logo.tsx'

type Props = {
  ended: boolean
  username: string | undefined
  signIn(username: string, password: string): Promise<void>
}

export function SignIn({ ended, username, signIn }: Props) {
  const words = useWords()
  const [failed, setFailed] = useState<string>()
  const [busy, setBusy] = useState(false)

  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    setBusy(true)
    setFailed(undefined)
    try {
      await signIn(textIn(form, 'username').trim(), textIn(form, 'password'))
    } catch (thrown) {
      setFailed(reasonOf(thrown, words))
      setBusy(false)
    }
  }

  return (
    <main className="sign-in">
      <Paper className="sign-in-card" shadow="sm" radius="md" p="xl" withBorder>
        <form onSubmit={(event) => void submit(event)}>
          <Stack gap="md">
            <Brand tagline />
            <Title order={1} fz="h3">
              {words.signIn.title}
            </Title>
            {ended && <Notice tone="moving">{words.signIn.ended}</Notice>}
            {failed && (
              <Notice tone="bad" role="alert">
                {failed}
              </Notice>
            )}
            <TextInput
              name="username"
              label={words.signIn.username}
              defaultValue={username}
              autoComplete="username"
              required
              withAsterisk={false}
              autoFocus={!username}
            />
            <PasswordInput
              name="password"
              label={words.signIn.password}
              autoComplete="current-password"
              visibilityToggleButtonProps={{ 'aria-label': words.signIn.showPassword, tabIndex: 0 }}
              required
              withAsterisk={false}
              autoFocus={Boolean(username)}
            />
            <Button type="submit" loading={busy} fullWidth>
              {words.signIn.submit}
            </Button>
            <LanguageChoice />
          </Stack>
        </form>
      </Paper>
    </main>
  )
}

export function textIn(form: FormData, name: string): string {
  const value = form.get(name)
  return typeof value === 'string' ? value : ''
}

export function reasonOf(thrown: unknown, words: Words): string {
  if (!(thrown instanceof ClientError)) return words.signIn.unreachable
  if (thrown.status === 429) return words.signIn.tooMany
  return thrown.status === 401 || thrown.status === 400 ? words.signIn.refused : thrown.message
}
