// What administrators do with a whole channel: copy it, remove it.

import { Button } from '@mantine/core'
import { IconCopy, IconTrash } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link, useLocation } from 'wouter'
import { useWords } from '../i18n/language.tsx'
import { useAsk, useTell } from '../parts/ask.tsx'
import { BusyButton } from '../parts/busy-button.tsx'
import { useSession } from '../session/session.tsx'

export function ChannelMenu({ code }: { code: string }) {
  const words = useWords()
  const ask = useAsk()
  const tell = useTell()
  const { client, rights } = useSession()
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const { mutate, isPending } = useMutation({
    mutationFn: () => client.platform.removeChannel({ channelCode: code }),
    onSuccess: () => {
      tell.done(words.admin.removed(code))
      navigate('/channels')
      void queries.invalidateQueries()
    },
    onError: tell.refused,
  })
  const question = {
    title: words.admin.removeTitle(code),
    text: words.newChannel.removeText,
    yes: words.admin.remove,
    danger: true,
    go: () => mutate(),
  }
  return (
    <>
      {rights.may('copyChannel') && (
        <Button
          component={Link}
          href={`/channels/new?from=${code}`}
          variant="default"
          leftSection={<IconCopy size={16} aria-hidden />}
        >
          {words.newChannel.copy}
        </Button>
      )}
      {rights.may('removeChannel') && (
        <BusyButton
          variant="default"
          busy={isPending}
          leftSection={<IconTrash size={16} aria-hidden />}
          onClick={() => ask(question)}
        >
          {words.admin.remove}
        </BusyButton>
      )}
    </>
  )
}
