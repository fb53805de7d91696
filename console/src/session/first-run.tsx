// The first run: a platform without people asks for its first administrator. Whoever started the node has the code.

import { ClientError } from '../../../sdk/index.ts'
import type { Client, Session } from '../../../sdk/index.ts'
import { Button, Paper, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core'
import { useState } from 'react'
import type { FormEvent } from 'react'
import { useLanguage } from '../i18n/language.tsx'
import { Brand } from '../parts/logo.tsx'
import { Notice } from '../parts/notice.tsx'
import { LanguageChoice } from '../parts/preferences.tsx'
import { textIn } from './sign-in.tsx'

type Props = { client: Client; entered(user: Session): void; over(): void }

export function FirstRun({ client, entered, over }: Props) {
  const { words, language } = useLanguage()
  const [failed, setFailed] = useState<string>()
  const [busy, setBusy] = useState(false)

  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    if (textIn(form, 'password') !== textIn(form, 'again')) return setFailed(words.account.notTheSame)
    setBusy(true)
    setFailed(undefined)
    const body = {
      code: textIn(form, 'code').trim(),
      username: textIn(form, 'username').trim(),
      email: textIn(form, 'email').trim(),
      password: textIn(form, 'password'),
      language,
    }
    try {
      entered(await client.platform.makeFirstAdministrator({ body }))
    } catch (thrown) {
      setBusy(false)
      if (thrown instanceof ClientError && thrown.status === 409) return over()
      setFailed(reasonOf(thrown))
    }
  }
  const reasonOf = (thrown: unknown) => {
    if (!(thrown instanceof ClientError)) return words.signIn.unreachable
    if (thrown.status === 401) return words.firstRun.wrongCode
    return thrown.status === 429 ? words.signIn.tooMany : thrown.message
  }

  const field = { required: true, withAsterisk: false } as const
  const hidden = {
    ...field,
    autoComplete: 'new-password',
    visibilityToggleButtonProps: { 'aria-label': words.signIn.showPassword, tabIndex: 0 },
  }
  return (
    <main className="sign-in">
      <Paper className="sign-in-card" shadow="sm" radius="md" p="xl" withBorder>
        <form onSubmit={(event) => void submit(event)}>
          <Stack gap="md">
            <Brand tagline />
            <Title order={1} fz="h3">
              {words.firstRun.title}
            </Title>
            <Text fz="sm">{words.firstRun.help}</Text>
            {failed && (
              <Notice tone="bad" role="alert">
                {failed}
              </Notice>
            )}
            <TextInput
              name="code"
              label={words.firstRun.code}
              description={words.firstRun.codeHelp}
              autoComplete="off"
              autoFocus
              {...field}
            />
            <TextInput name="username" label={words.signIn.username} autoComplete="username" {...field} />
            <TextInput
              name="email"
              type="email"
              label={words.firstRun.email}
              autoComplete="email"
              {...field}
            />
            <PasswordInput
              name="password"
              label={words.signIn.password}
              description={words.account.passwordHelp}
              {...hidden}
            />
            <PasswordInput name="again" label={words.account.again} {...hidden} />
            <Button type="submit" loading={busy} fullWidth>
              {words.firstRun.submit}
            </Button>
            <Button variant="subtle" onClick={over} fullWidth>
              {words.firstRun.signIn}
            </Button>
            <LanguageChoice />
          </Stack>
        </form>
      </Paper>
    </main>
  )
}
