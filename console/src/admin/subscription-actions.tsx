// A subscription is tried out, and switched on again after its other end was mended.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useWords } from '../i18n/language.tsx'
import { useTell } from '../parts/ask.tsx'
import { BusyButton } from '../parts/busy-button.tsx'
import { useSession } from '../session/session.tsx'

export function SubscriptionActions({ id, isOff }: { id: string; isOff: boolean }) {
  const words = useWords()
  const { client, rights } = useSession()
  const queries = useQueryClient()
  const tell = useTell()
  const { mutate, isPending } = useMutation({
    mutationFn: async () => {
      if (isOff) await client.platform.enableSubscription({ subscriptionId: id })
      else await client.platform.testSubscription({ subscriptionId: id })
    },
    onSuccess: () => {
      tell.done(isOff ? words.admin.enabled(id) : words.admin.tested(id))
      void queries.invalidateQueries()
    },
    onError: tell.refused,
  })
  if (!rights.may(isOff ? 'enableSubscription' : 'testSubscription')) return null
  const label = isOff ? words.admin.enable : words.admin.test
  return (
    <BusyButton
      size="xs"
      mr="xs"
      variant="default"
      busy={isPending}
      aria-label={`${label}: ${id}`}
      onClick={() => mutate()}
    >
      {label}
    </BusyButton>
  )
}
