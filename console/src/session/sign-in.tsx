// The sign-in page. It is also shown when a session has ended. The address stays, so the next session goes on at the
// same page.

import { ClientError } from '../../../sdk/index.ts'
import { Button, PasswordInput, TextInput } from '@mantine/core'
import { IconPlugConnectedX } from '@tabler/icons-react'
import type { Words } from '../i18n/en.ts'
import { useWords } from '../i18n/language.tsx'
import { Notice } from '../parts/notice.tsx'
import { Empty } from '../parts/states.tsx'
import { SignInCard } from './sign-in-card.tsx'

type Props = {
  ended: boolean
  username: string | undefined
  /** Who is signed in instead, in another tab; the page may go on as theirs. */
  other?: { name: string; take(): void } | undefined
  signIn(username: string, password: string): Promise<void>
}

export function SignIn({ ended, username, other, signIn }: Props) {
  const words = useWords()
  const send = async (form: FormData) => {
    try {
      await signIn(textIn(form, 'username').trim(), textIn(form, 'password'))
      return undefined
    } catch (thrown) {
      return reasonOf(thrown, words)
    }
  }
  return (
    <SignInCard
      title={words.signIn.title}
      about={
        ended && (
          <Notice tone="moving" role="status">
            {other ? words.signIn.other(other.name) : words.signIn.ended}
          </Notice>
        )
      }
      button={words.signIn.submit}
      otherwise={
        other && (
          <Button variant="subtle" onClick={other.take} fullWidth>
            {words.signIn.takeOver(other.name)}
          </Button>
        )
      }
      send={send}
    >
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
    </SignInCard>
  )
}

/** In its place while the node does not answer: it is not known whether somebody is signed in. */
export function Silent() {
  const words = useWords()
  return (
    <main className="sign-in">
      <div role="alert">
        <Empty
          icon={<IconPlugConnectedX size={28} stroke={1.5} />}
          title={words.signIn.silent}
          help={words.signIn.silentHelp}
        />
      </div>
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
