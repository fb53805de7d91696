// The session: the token, the client that uses it, and what the user may do. The token is in memory and nowhere else.
// The session ends with the token, by signing out, when the node answers 401, or when the page is reloaded.

import { ClientError, createClient } from '../../../sdk/index.ts'
import type { Client, Session } from '../../../sdk/index.ts'
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { createContext, useCallback, useContext, useEffect, useMemo, useState } from 'react'
import type { ReactNode } from 'react'
import { useLanguage } from '../i18n/language.tsx'
import { rightsOf } from './rights.ts'
import type { Rights } from './rights.ts'
import { SignIn } from './sign-in.tsx'

export type SignedIn = {
  client: Client
  token: string
  user: Session
  rights: Rights
  /** By this browser's clock. */
  expiresAt: number
  signOut(): void
  /** A new token for the same user; the page stays as it is. */
  renew(password: string): Promise<void>
}

type Held = { token: string; client: Client; user: Session; expiresAt: number }

const SessionContext = createContext<SignedIn | undefined>(undefined)

export function useSession(): SignedIn {
  const session = useContext(SessionContext)
  if (!session) throw new Error('useSession outside SessionProvider')
  return session
}

export function SessionProvider({ children }: { children: ReactNode }) {
  const { suggest } = useLanguage()
  const [held, setHeld] = useState<Held>()
  const [ended, setEnded] = useState(false)
  const queries = useMemo(() => makeQueries(() => setEnded(true)), [])

  const signIn = useCallback(
    async (username: string, password: string) => {
      const next = await open(username, password)
      suggest(next.user.language)
      setEnded(false)
      setHeld(next)
    },
    [suggest],
  )
  const signOut = useCallback(() => {
    setHeld(undefined)
    setEnded(false)
    queries.clear()
  }, [queries])

  useEffect(() => {
    if (!held) return undefined
    const timer = setTimeout(() => setEnded(true), Math.max(0, held.expiresAt - Date.now()))
    return () => clearTimeout(timer)
  }, [held])
  useEffect(() => {
    if (ended) queries.clear()
  }, [ended, queries])

  const session = useMemo<SignedIn | undefined>(() => {
    if (!held) return undefined
    const renew = (password: string) => signIn(held.user.username, password)
    return { ...held, rights: rightsOf(held.user), signOut, renew }
  }, [held, signIn, signOut])
  if (!session || ended) return <SignIn ended={ended} username={held?.user.username} signIn={signIn} />
  return (
    <QueryClientProvider client={queries}>
      <SessionContext value={session}>{children}</SessionContext>
    </QueryClientProvider>
  )
}

async function open(username: string, password: string): Promise<Held> {
  const url = location.origin
  const { token } = await createClient({ url }).loginV2({ body: { username, password } })
  const client = createClient({ url, token })
  const user = await client.platform.session()
  // Only the difference is used: this clock and the node's may not agree.
  const expiresAt = Date.now() + Date.parse(user.expiresAt) - Date.parse(user.now)
  return { token, client, user, expiresAt }
}

function makeQueries(end: () => void): QueryClient {
  const onError = (thrown: unknown) => {
    if (thrown instanceof ClientError && thrown.status === 401) end()
  }
  return new QueryClient({
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({ onError }),
    defaultOptions: {
      queries: {
        staleTime: 2_000,
        // Only calls without an answer are repeated; an answer of the node counts.
        retry: (count, thrown) => !(thrown instanceof ClientError) && count < 2,
      },
    },
  })
}
