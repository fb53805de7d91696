// Across the page while the node does not answer: what is shown is old.

import { IconPlugConnectedX } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'
import { useFormats, useWords } from '../i18n/language.tsx'
import { useSession } from '../session/session.tsx'
import { connection } from './connection.ts'
import { useLive } from './live.tsx'

const LOOK_MS = 10_000

export function ConnectionBar() {
  const words = useWords()
  const formats = useFormats()
  useHeartbeat()
  const since = useSyncExternalStore(connection.subscribe, connection.lostSince)
  return (
    <div role="alert" className="connection-bar" hidden={since === undefined}>
      {since !== undefined && (
        <>
          <IconPlugConnectedX size={18} aria-hidden />
          <span>{words.app.notConnected(formats.moment(since))}</span>
        </>
      )}
    </div>
  )
}

/** Where no stream tells, the node is asked now and then. The browser tells when the machine has no network. */
function useHeartbeat(): void {
  const { client, ended } = useSession()
  const { state } = useLive()
  useQuery({
    queryKey: ['heartbeat'],
    queryFn: ({ signal }) => client.platform.session({}, { signal }),
    enabled: !ended && state !== 'open',
    refetchInterval: LOOK_MS,
    retry: false,
    networkMode: 'always',
  })
  useEffect(() => {
    const gone = () => connection.lost()
    addEventListener('offline', gone)
    return () => removeEventListener('offline', gone)
  }, [])
}
