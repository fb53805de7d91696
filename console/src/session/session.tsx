// The session: who is signed in, the client, and what the user may do. A cookie that scripts cannot read carries it, so
// reloading and new tabs go on with it. It ends after its time, by signing out, or when the node answers 401. Then the
// page waits behind the sign-in with all that was typed; the same user goes on with it. Another tab may have signed in
// somebody else: every request names the user that is shown, and the page looks whose the session is when one is refused.

import { ClientError } from '../../../sdk/index.ts'
import type { Client, Session } from '../../../sdk/index.ts'
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import {
  createContext,
  useCallback,
  useContext,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import type { ReactNode } from 'react'
import { useLanguage } from '../i18n/language.tsx'
import { connection } from '../live/connection.ts'
import { Loading } from '../parts/states.tsx'
import { consoleClient } from './console-client.ts'
import { FirstRun } from './first-run.tsx'
import { tellOtherTabs, whenTold } from './other-tabs.ts'
import { rightsOf } from './rights.ts'
import type { Rights } from './rights.ts'
import { Silent, SignIn } from './sign-in.tsx'

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
  /** Asks the node whose the session is: the page goes on, or waits behind the sign-in. Says whether it answered. */
  look(): Promise<boolean>
}

type Held = { user: Session; expiresAt: number }
type State =
  // `silent`: the node does not answer.
  | { kind: 'looking'; silent: boolean }
  | { kind: 'out'; firstRun: boolean }
  // `other` is signed in instead.
  | ({ kind: 'in'; ended: boolean; other?: Session } & Held)

/** Between two questions to a node that does not answer. */
const AGAIN_MS = 3_000
/** What the way to the node and back makes uncertain. */
const CLOCK_MS = 5_000

/** Names nobody: the node says whose the session is. */
const asking = consoleClient()

const SessionContext = createContext<SignedIn | undefined>(undefined)

export function useSession(): SignedIn {
  const session = useContext(SessionContext)
  if (!session) throw new Error('useSession outside SessionProvider')
  return session
}

export function SessionProvider({ children }: { children: ReactNode }) {
  const { suggest } = useLanguage()
  const [state, setState] = useState<State>({ kind: 'looking', silent: false })
  // The last look, sign-in or sign-out counts: what was asked before it may be answered later.
  const turn = useRef(0)
  const end = useCallback(() => setState(ended), [])
  const enter = useCallback((user: Session) => {
    turn.current++
    setState({ kind: 'in', ended: false, user, expiresAt: expiryOf(user) })
    tellOtherTabs()
  }, [])
  const look = useCallback(async () => {
    const mine = ++turn.current
    try {
      const user = await asking.platform.session()
      connection.answered()
      if (mine === turn.current) setState((now) => found(now, user))
      return true
    } catch (thrown) {
      connection.failed(thrown)
      if (mine === turn.current && isSignedOut(thrown)) end()
      return isSignedOut(thrown)
    }
  }, [end])
  useEffect(() => whenTold(() => void look()), [look])
  useEffect(() => {
    const stop = new AbortController()
    void firstLook(setState, stop.signal)
    return () => stop.abort()
  }, [])
  const signIn = useCallback(
    async (username: string, password: string) =>
      enter(await asking.platform.openSession({ body: { username, password } })),
    [enter],
  )

  const held = state.kind === 'in' ? state : undefined
  const username = held?.user.username
  // Both are one user's own: nothing that one has read is seen by another, and nothing is asked in another's name.
  const { client, queries } = useMemo(
    () => ({ client: consoleClient(username), queries: makeQueries(look) }),
    [username, look],
  )
  const language = held?.user.language
  useLayoutEffect(() => {
    if (language !== undefined) suggest(language)
  }, [language, suggest])
  const signOut = useCallback(() => {
    turn.current++
    // Without an answer the session ends by its time; this page forgets it now.
    void client.platform
      .endSession()
      .catch(() => {})
      .finally(tellOtherTabs)
    setState({ kind: 'out', firstRun: false })
  }, [client])
  useEffect(() => {
    if (!held || held.ended) return undefined
    // Another tab may have got a new session: the node knows. Without its answer the time is over.
    const over = async () => {
      if (!(await look())) end()
      else if (!stopped) wait()
    }
    let stopped = false
    let timer: ReturnType<typeof setTimeout>
    // The node's clock has its own second.
    const wait = () => {
      timer = setTimeout(() => void over(), Math.max(1_000, held.expiresAt - Date.now()))
    }
    wait()
    return () => {
      stopped = true
      clearTimeout(timer)
    }
  }, [held, look, end])
  const isIn = held !== undefined
  useEffect(() => {
    const seen = () => {
      if (document.visibilityState === 'visible') void look()
    }
    if (isIn) document.addEventListener('visibilitychange', seen)
    return () => document.removeEventListener('visibilitychange', seen)
  }, [isIn, look])
  useEffect(() => {
    // Dialogs lie beside the page: they wait with it.
    document.documentElement.classList.toggle('session-ended', held?.ended === true)
    if (held?.ended === false) void queries.invalidateQueries()
    // Of a session that was given anew, too: what was asked meanwhile may have been refused.
  }, [held?.ended, held?.user, queries])

  const session = useMemo<SignedIn | undefined>(() => {
    if (!held) return undefined
    const renew = (password: string) => signIn(held.user.username, password)
    return { ...held, client, rights: rightsOf(held.user), signOut, renew, refresh: enter, look }
  }, [held, client, signIn, signOut, enter, look])
  if (state.kind === 'looking') return state.silent ? <Silent /> : <Loading />
  if (!session)
    return state.kind === 'out' && state.firstRun ? (
      <FirstRun client={asking} entered={enter} over={() => setState({ kind: 'out', firstRun: false })} />
    ) : (
      <SignIn ended={false} username={undefined} signIn={signIn} />
    )
  const other = held?.other
  return (
    <QueryClientProvider client={queries}>
      <SessionContext value={session}>
        <div key={session.user.username} hidden={session.ended}>
          {children}
        </div>
        {session.ended && (
          <SignIn
            ended
            username={session.user.username}
            other={other && { name: other.username, take: () => enter(other) }}
            signIn={signIn}
          />
        )}
      </SessionContext>
    </QueryClientProvider>
  )
}

/** Only 401 means that nobody is signed in. Without an answer the node is asked again until there is one. */
async function firstLook(say: (state: State) => void, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    const state = await whoIsThere().catch((): State => ({ kind: 'looking', silent: true }))
    if (stop.aborted) return
    say(state)
    if (state.kind !== 'looking') return
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
  }
}

async function whoIsThere(): Promise<State> {
  try {
    const user = await asking.platform.session()
    return { kind: 'in', ended: false, user, expiresAt: expiryOf(user) }
  } catch (thrown) {
    if (!isSignedOut(thrown)) throw thrown
    return { kind: 'out', firstRun: (await asking.platform.firstRun()).open }
  }
}

/** Only the difference is used: this clock and the node's may not agree. */
function expiryOf(user: Session): number {
  return Date.now() + Date.parse(user.expiresAt) - Date.parse(user.now)
}

export function isSignedOut(thrown: unknown): boolean {
  return thrown instanceof ClientError && thrown.status === 401
}

/** The session has ended or is another user's, or a right was taken away meanwhile. */
export function needsLook(thrown: unknown): boolean {
  return isSignedOut(thrown) || (thrown instanceof ClientError && thrown.status === 403)
}

function ended(now: State): State {
  if (now.kind !== 'in' || (now.ended && !now.other)) return now
  const { user, expiresAt } = now
  return { kind: 'in', ended: true, user, expiresAt }
}

/** The node has said whose the session is. A page at the sign-in stays there: somebody may be typing. */
function found(now: State, user: Session): State {
  if (now.kind !== 'in') return now
  if (now.user.username !== user.username) return { ...now, ended: true, other: user }
  const expiresAt = expiryOf(user)
  if (now.ended || !isSame(now.user, user)) return { kind: 'in', ended: false, user, expiresAt }
  // This clock may have been set meanwhile.
  return Math.abs(expiresAt - now.expiresAt) < CLOCK_MS ? now : { ...now, expiresAt }
}

function isSame(before: Session, after: Session): boolean {
  return JSON.stringify({ ...before, now: '' }) === JSON.stringify({ ...after, now: '' })
}

function makeQueries(look: () => Promise<boolean>): QueryClient {
  const onError = (thrown: unknown) => {
    connection.failed(thrown)
    if (needsLook(thrown)) void look()
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
