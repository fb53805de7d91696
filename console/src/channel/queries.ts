// What the pages of a channel read. Keys begin with ['channel', code], so that an event of the channel refreshes them.

import { useQuery } from '@tanstack/react-query'
import { useLive } from '../live/live.tsx'
import { useSession } from '../session/session.tsx'

export function useChannelStatus(code: string) {
  const { client } = useSession()
  const { pollMs } = useLive()
  return useQuery({
    queryKey: ['channel', code, 'status'],
    queryFn: async ({ signal }) => (await client.channelStatus({ channelCode: code }, { signal }))[0] ?? {},
    refetchInterval: pollMs || 60_000,
  })
}

export function useConfiguration(code: string) {
  const { client } = useSession()
  return useQuery({
    queryKey: ['configuration', code],
    queryFn: async ({ signal }) =>
      (await client.channelConfiguration({ channelCode: code }, { signal }))[0] ?? {},
  })
}

/** The last few transfers, newest first. Those under way, two at the most, are among them. */
export function useLastTransfers(code: string) {
  const { client, rights } = useSession()
  const { pollMs } = useLive()
  return useQuery({
    queryKey: ['channel', code, 'last-transfers'],
    queryFn: ({ signal }) => client.listTransfers({ channelCode: code, size: 10 }, { signal }),
    enabled: rights.may('listTransfers'),
    refetchInterval: pollMs,
  })
}

export function useTransferFacts(code: string, id: string | undefined) {
  const { client } = useSession()
  return useQuery({
    queryKey: ['channel', code, 'facts', id],
    queryFn: ({ signal }) =>
      client.platform.transferFacts({ channelCode: code, transferId: id ?? '' }, { signal }),
    enabled: id !== undefined,
  })
}

/** Partner, protocol and automation, which the interface does not show. */
export function useChannelSetup(code: string) {
  const { client } = useSession()
  return useQuery({
    queryKey: ['channel', code, 'setup'],
    queryFn: ({ signal }) => client.platform.channelSetup({ channelCode: code }, { signal }),
    // A pause of the automation ends without an event.
    refetchInterval: 60_000,
  })
}
