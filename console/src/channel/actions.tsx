// Send, fetch, retry, reset. Each asks first and says what it will do. If the node refuses, its own message is shown.

import type { Transfer } from '../../../sdk/index.ts'
import { Anchor, Text } from '@mantine/core'
import { modals } from '@mantine/modals'
import { notifications } from '@mantine/notifications'
import { IconDownload, IconPlayerSkipBack, IconRefresh, IconSend } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import { useWords } from '../i18n/language.tsx'
import { useTell } from '../parts/ask.tsx'
import { BusyButton } from '../parts/busy-button.tsx'
import { useSession } from '../session/session.tsx'
import { SendPreview } from './send-preview.tsx'

export type Action = 'send' | 'fetch' | 'retry' | 'reset'

const OPERATIONS = {
  send: 'sendTransfer',
  fetch: 'fetchTransfer',
  retry: 'retryTransfer',
  reset: 'resetChannel',
} as const
const ICONS = { send: IconSend, fetch: IconDownload, retry: IconRefresh, reset: IconPlayerSkipBack }

/** A function that asks and then acts. Undefined if the user may not. */
export function useChannelAction(
  action: Action,
  code: string,
): { ask: () => void; busy: boolean } | undefined {
  const words = useWords()
  const { client, rights } = useSession()
  const queries = useQueryClient()
  const tell = useTell()
  const [, navigate] = useLocation()
  const { mutate, isPending } = useMutation({
    mutationFn: async (): Promise<Transfer | undefined> => {
      if (action === 'send') return client.sendTransfer({ channelCode: code })
      if (action === 'fetch') return client.platform.fetchTransfer({ channelCode: code })
      if (action === 'retry') return client.retryTransfer({ channelCode: code })
      await client.resetChannel({ channelCode: code })
      return undefined
    },
    onSuccess: (transfer) => {
      const title = {
        send: words.channel.sent,
        fetch: words.channel.fetched,
        retry: words.channel.retried,
        reset: words.channel.resetDone,
      }[action]
      const href = `/channels/${code}/transfers/${transfer?.transferId}`
      const link = (
        <Anchor component="button" type="button" fz="sm" onClick={() => navigate(href)}>
          {words.channel.follow}
        </Anchor>
      )
      notifications.show({
        color: 'teal',
        title,
        message: transfer ? link : code,
        closeButtonProps: { 'aria-label': words.app.close },
      })
    },
    onError: tell.refused,
    onSettled: () => queries.invalidateQueries(),
  })
  if (!rights.may(OPERATIONS[action])) return undefined
  const title = {
    send: words.channel.sendTitle,
    fetch: words.channel.fetchTitle,
    retry: words.channel.retryTitle,
    reset: words.channel.resetTitle,
  }
  const text = {
    send: words.channel.sendText(code),
    fetch: words.channel.fetchText,
    retry: words.channel.retryText,
    reset: words.channel.resetText,
  }
  const ask = () =>
    modals.openConfirmModal({
      title: title[action],
      children: (
        <>
          <Text fz="sm" fw={600} mb="xs" className="code">
            {code}
          </Text>
          <Text fz="sm">{text[action]}</Text>
          {action === 'send' && <SendPreview code={code} />}
        </>
      ),
      labels: { confirm: words.channel[action], cancel: words.app.cancel },
      confirmProps: { color: action === 'reset' ? 'red.9' : 'lock' },
      closeButtonProps: { 'aria-label': words.app.close },
      onConfirm: () => mutate(),
    })
  return { ask, busy: isPending }
}

type ButtonProps = { action: Action; code: string; size?: 'xs' | 'sm'; primary?: boolean }

export function ActionButton({ action, code, size = 'sm', primary = false }: ButtonProps) {
  const words = useWords()
  const doing = useChannelAction(action, code)
  const Icon = ICONS[action]
  if (!doing) return null
  return (
    <BusyButton
      size={size}
      variant={primary ? 'filled' : 'default'}
      busy={doing.busy}
      onClick={doing.ask}
      leftSection={<Icon size={16} stroke={1.9} aria-hidden />}
      aria-label={size === 'xs' ? `${words.channel[action]}: ${code}` : undefined}
    >
      {words.channel[action]}
    </BusyButton>
  )
}
