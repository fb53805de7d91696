// The first run: a platform without people asks for its first administrator. Whoever started the node has the code.

import { ClientError } from '../../../sdk/index.ts'
import type { Client, Session } from '../../../sdk/index.ts'
import { Button, PasswordInput, Text, TextInput } from '@mantine/core'
import { useLanguage } from '../i18n/language.tsx'
import { SignInCard } from './sign-in-card.tsx'
import { textIn } from './sign-in.tsx'

type Props = { client: Client; entered(user: Session): void; over(): void }

export function FirstRun({ client, entered, over }: Props) {
  const { words, language } = useLanguage()
  const send = async (form: FormData) => {
    if (textIn(form, 'password') !== textIn(form, 'again')) return words.account.notTheSame
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
      if (!(thrown instanceof ClientError && thrown.status === 409)) return reasonOf(thrown)
      over()
    }
    return undefined
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
    <SignInCard
      title={words.firstRun.title}
      about={<Text fz="sm">{words.firstRun.help}</Text>}
      button={words.firstRun.submit}
      otherwise={
        <Button variant="subtle" onClick={over} fullWidth>
          {words.firstRun.signIn}
        </Button>
      }
      send={send}
    >
      <TextInput
        name="code"
        label={words.firstRun.code}
        description={words.firstRun.codeHelp}
        autoComplete="off"
        autoFocus
        {...field}
      />
      <TextInput name="username" label={words.signIn.username} autoComplete="username" {...field} />
      <TextInput name="email" type="email" label={words.firstRun.email} autoComplete="email" {...field} />
      <PasswordInput
        name="password"
        label={words.signIn.password}
        description={words.account.passwordHelp}
        {...hidden}
      />
      <PasswordInput name="again" label={words.account.again} {...hidden} />
    </SignInCard>
  )
}
