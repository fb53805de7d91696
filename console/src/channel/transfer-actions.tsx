// One transfer cancelled, or a completed one sent again: both with a word about why.

import { Button, Group, Modal, Stack, Text, Textarea } from '@mantine/core'
import { IconBan, IconRepeat } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { FormEvent } from 'react'
import { useLocation } from 'wouter'
import { useWords } from '../i18n/language.tsx'
import { Notice } from '../parts/notice.tsx'
import { useTell } from '../parts/ask.tsx'
import { useRefusals } from '../parts/refusal.ts'
import { useSession } from '../session/session.tsx'
import { textIn } from '../session/sign-in.tsx'

type Props = { action: 'cancel' | 'resend'; code: string; id: string }

export function TransferAction({ action, code, id }: Props) {
  const words = useWords().transferActions
  const { rights } = useSession()
  const [asking, setAsking] = useState(false)
  if (!rights.may(action === 'cancel' ? 'cancelTransfer' : 'resendTransfer')) return null
  const Icon = action === 'cancel' ? IconBan : IconRepeat
  return (
    <>
      <Button variant="default" leftSection={<Icon size={16} aria-hidden />} onClick={() => setAsking(true)}>
        {words[action]}
      </Button>
      <Question action={action} code={code} id={id} opened={asking} close={() => setAsking(false)} />
    </>
  )
}

function Question({ action, code, id, opened, close }: Props & { opened: boolean; close(): void }) {
  const all = useWords()
  const words = all.transferActions
  const { client } = useSession()
  const tell = useTell()
  const refusals = useRefusals()
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const { mutate, isPending, error } = useMutation({
    mutationFn: (comment: string) => {
      const input = { channelCode: code, transferId: id }
      return action === 'cancel'
        ? client.platform.cancelTransfer({ ...input, body: comment === '' ? {} : { comment } })
        : client.platform.resendTransfer({ ...input, body: { comment } })
    },
    onSuccess: ({ transferId }) => {
      tell.done(words.done[action])
      close()
      if (action === 'resend') navigate(`/channels/${code}/transfers/${transferId}`)
      void queries.invalidateQueries()
    },
  })
  const refusal = error && refusals.ofChange(error, all.channel.refused)
  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    mutate(textIn(new FormData(event.currentTarget), 'comment').trim())
  }
  return (
    <Modal
      opened={opened}
      onClose={close}
      title={words.title[action]}
      closeButtonProps={{ 'aria-label': all.app.close }}
    >
      <form onSubmit={submit}>
        <Stack gap="md">
          <Text fz="sm">{words.text[action]}</Text>
          <Textarea
            name="comment"
            label={words.why}
            maxLength={500}
            required={action === 'resend'}
            withAsterisk={false}
            data-autofocus
          />
          {refusal && (
            <Notice tone="bad" role="alert" title={refusal.title}>
              {refusal.text}
            </Notice>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {words.no}
            </Button>
            <Button type="submit" loading={isPending}>
              {words[action]}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
