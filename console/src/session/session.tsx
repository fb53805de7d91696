// The session: who is signed in, the client, and what the user may do. A cookie that scripts cannot read carries it, so
// reloading and new tabs go on with it. It ends after its time, by signing out, or when the node answers 401. Then the
// page waits behind the sign-in with all that was typed; the same user goes on with it.

import { ClientError } from '../../../sdk/index.ts'
import type { Client, Session } from '../../../sdk/index.ts'
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { createContext, useCallback, useContext, useEffect, useMemo, useState } from 'react'
import type { ReactNode } from 'react'
import { useLanguage } from '../i18n/language.tsx'
import { connection } from '../live/connection.ts'
import { Loading } from '../parts/states.tsx'
import { consoleClient } from './console-client.ts'
import { FirstRun } from './first-run.tsx'
import { rightsOf } from './rights.ts'
import type { Rights } from './rights.ts'
import { SignIn } from './sign-in.tsx'

export type SignedIn = {
  client: Client
  user: Session
  rights: Rights
  /** By this browser's clock. */
  expiresAt: number
  /** The session is over; the page waits behind the sign-in. */
  ended: boolean
  signOut(): void
  /** A new session for the same user; the page stays as it is. */
  renew(password: string): Promise<void>
  /** The node has given this session anew: after another password or language. */
  refresh(user: Session): void
}

type Held = { user: Session; expiresAt: number }
type State =
  | { kind: 'looking' }
  | { kind: 'out'; firstRun: boolean }
  | ({ kind: 'in'; ended: boolean } & Held)

const SessionContext = createContext<SignedIn | undefined>(undefined)

export function useSession(): SignedIn {
  const session = useContext(SessionContext)
  if (!session) throw new Error('useSession outside SessionProvider')
  return session
}

export function SessionProvider({ children }: { children: ReactNode }) {
  const { suggest } = useLanguage()
  const client = useMemo(consoleClient, [])
  const [state, setState] = useState<State>({ kind: 'looking' })
  const end = useCallback(
    () => setState((now) => (now.kind === 'in' && !now.ended ? { ...now, ended: true } : now)),
    [],
  )
  const queries = useMemo(() => makeQueries(end), [end])
  const enter = useCallback(
    (user: Session) => {
      suggest(user.language)
      setState((before) => {
        // Somebody else signed in: nothing of the one before may be seen.
        if (before.kind === 'in' && before.user.username !== user.username) queries.clear()
        return { kind: 'in', ended: false, user, expiresAt: expiryOf(user) }
      })
    },
    [suggest, queries],
  )
  useEffect(() => {
    const look = async () => {
      try {
        enter(await client.platform.session())
      } catch {
        const { open } = await client.platform.firstRun().catch(() => ({ open: false }))
        setState({ kind: 'out', firstRun: open })
      }
    }
    void look()
  }, [client, enter])
  const signIn = useCallback(
    async (username: string, password: string) =>
      enter(await client.platform.openSession({ body: { username, password } })),
    [client, enter],
  )
  const signOut = useCallback(() => {
    // Without an answer the session ends by its time; this page forgets it now.
    void client.platform.endSession().catch(() => {})
    setState({ kind: 'out', firstRun: false })
    queries.clear()
  }, [client, queries])

  const held = state.kind === 'in' ? state : undefined
  useEffect(() => {
    if (!held || held.ended) return undefined
    const timer = setTimeout(end, Math.max(0, held.expiresAt - Date.now()))
    return () => clearTimeout(timer)
  }, [held, end])
  useEffect(() => {
    // Dialogs lie beside the page: they wait with it.
    document.documentElement.classList.toggle('session-ended', held?.ended === true)
    if (held?.ended === false) void queries.invalidateQueries()
  }, [held?.ended, queries])

  const session = useMemo<SignedIn | undefined>(() => {
    if (!held) return undefined
    const renew = (password: string) => signIn(held.user.username, password)
    return { ...held, client, rights: rightsOf(held.user), signOut, renew, refresh: enter }
  }, [held, client, signIn, signOut, enter])
  if (state.kind === 'looking') return <Loading />
  if (!session)
    return state.kind === 'out' && state.firstRun ? (
      <FirstRun client={client} entered={enter} over={() => setState({ kind: 'out', firstRun: false })} />
    ) : (
      <SignIn ended={false} username={undefined} signIn={signIn} />
    )
  return (
    <QueryClientProvider client={queries}>
      <SessionContext value={session}>
        <div key={session.user.username} hidden={session.ended}>
          {children}
        </div>
        {session.ended && <SignIn ended username={session.user.username} signIn={signIn} />}
      </SessionContext>
    </QueryClientProvider>
  )
}

/** Only the difference is used: this clock and the node's may not agree. */
function expiryOf(user: Session): number {
  return Date.now() + Date.parse(user.expiresAt) - Date.parse(user.now)
}

function makeQueries(end: () => void): QueryClient {
  const onError = (thrown: unknown) => {
    connection.failed(thrown)
    if (thrown instanceof ClientError && thrown.status === 401) end()
  }
  return new QueryClient({
    queryCache: new QueryCache({ onError, onSuccess: () => connection.answered() }),
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
