// Live updates. Progress goes straight to the bars that show it. After a change of state, the lists it concerns are
// read again, but not too often. Without a stream, lists are read again every few seconds.

import { useQueryClient } from '@tanstack/react-query'
import type { QueryClient } from '@tanstack/react-query'
import { createContext, useContext, useEffect, useMemo, useState, useSyncExternalStore } from 'react'
import type { ReactNode } from 'react'
import type { TransferEvent } from '../../../src/contract/event.ts'
import { useSession } from '../session/session.tsx'
import { connection } from './connection.ts'
import { followEvents } from './event-stream.ts'
import type { HeardEvent, StreamState } from './event-stream.ts'
import { readAgain } from './read-again.ts'

export type Progress = Extract<TransferEvent, { kind: 'progress' }>

const GATHER_MS = 250
const POLL_MS = 5_000
const KEPT = 500

type Live = { state: StreamState; progress: ProgressStore; pollMs: number | false }

const LiveContext = createContext<Live | undefined>(undefined)

class ProgressStore {
  readonly #latest = new Map<string, Progress>()
  readonly #listeners = new Set<() => void>()

  put(event: Progress): void {
    if (this.#latest.size > KEPT) this.#latest.clear()
    this.#latest.set(event.transferId, event)
    for (const listener of this.#listeners) listener()
  }

  get(id: string): Progress | undefined {
    return this.#latest.get(id)
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}

export function LiveProvider({ children }: { children: ReactNode }) {
  const { user, rights, ended, look } = useSession()
  const queries = useQueryClient()
  const [state, setState] = useState<StreamState>('connecting')
  const progress = useMemo(() => new ProgressStore(), [])
  const mayListen = rights.may('listTransfers')
  useEffect(() => {
    if (!mayListen || ended) return undefined
    const stop = new AbortController()
    const refresh = gathered(queries)
    const heard = (event: HeardEvent) => {
      if (!('kind' in event)) refresh(event.channel ?? '')
      else if (event.kind === 'progress') progress.put(event)
      else refresh(event.channelCode)
    }
    const answered = (does: boolean) => (does ? connection.answered() : connection.lost())
    const changed = (to: StreamState) => {
      setState(to)
      if (to === 'refused') void look()
    }
    void followEvents({ username: user.username, heard, changed, answered }, stop.signal)
    return () => stop.abort()
    // A new session opens the stream anew.
  }, [user, ended, mayListen, queries, progress, look])
  // When the stream is back, everything is read again: something may have happened meanwhile.
  useEffect(() => {
    if (state === 'open') readAgain(queries)
  }, [state, queries])
  const live = useMemo<Live>(
    () => ({
      state: mayListen ? state : 'refused',
      progress,
      pollMs: ended || (mayListen && state === 'open') ? false : POLL_MS,
    }),
    [state, mayListen, ended, progress],
  )
  return <LiveContext value={live}>{children}</LiveContext>
}

/** Keys begin with what they are about; those about a channel have its code second. */
function gathered(queries: QueryClient): (channelCode: string) => void {
  const touched = new Set<string>()
  let timer: ReturnType<typeof setTimeout> | undefined
  return (channelCode) => {
    touched.add(channelCode)
    timer ??= setTimeout(() => {
      timer = undefined
      const codes = new Set(touched)
      touched.clear()
      readAgain(queries, {
        predicate: ({ queryKey: [about, code] }) =>
          about === 'platform' || (about === 'channel' && codes.has(String(code))),
      })
    }, GATHER_MS)
  }
}

export function useLive(): Live {
  const live = useContext(LiveContext)
  if (!live) throw new Error('useLive outside LiveProvider')
  return live
}

export function useProgress(transferId: string | undefined): Progress | undefined {
  const { progress } = useLive()
  return useSyncExternalStore(progress.subscribe, () => (transferId ? progress.get(transferId) : undefined))
}
