// A question before something is done, and a word when it was done or refused.

import { Text } from '@mantine/core'
import { modals } from '@mantine/modals'
import { notifications } from '@mantine/notifications'
import { useWords } from '../i18n/language.tsx'
import { useRefusals } from './refusal.ts'

type Question = { title: string; text: string; yes: string; danger?: boolean; go(): void }

export function useAsk(): (question: Question) => void {
  const words = useWords()
  return ({ title, text, yes, danger = false, go }) =>
    modals.openConfirmModal({
      title,
      children: <Text fz="sm">{text}</Text>,
      labels: { confirm: yes, cancel: words.app.cancel },
      confirmProps: danger ? { color: 'red.9' } : {},
      closeButtonProps: { 'aria-label': words.app.close },
      onConfirm: go,
    })
}

export function useTell() {
  const words = useWords()
  const refusals = useRefusals()
  const close = { closeButtonProps: { 'aria-label': words.app.close } }
  return {
    done: (message: string) => notifications.show({ color: 'teal', message, ...close }),
    refused: (thrown: unknown) => {
      const { title, text } = refusals.ofChange(thrown, words.channel.refused)
      notifications.show({ color: 'red', title, message: text, autoClose: false, ...close })
    },
  }
}
