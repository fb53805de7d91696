// Upload and send: files of this computer go into the channel's outbound directory, one after the other, and then the
// send shows what would go. Cancelling ends the one under way; the node keeps nothing of it.

import { Button, Group, Modal, Progress, Stack, Text } from '@mantine/core'
import { IconUpload } from '@tabler/icons-react'
import { useEffect, useRef, useState } from 'react'
import { useFormats, useWords } from '../i18n/language.tsx'
import { useTell } from '../parts/ask.tsx'
import { BusyButton } from '../parts/busy-button.tsx'
import { Notice } from '../parts/notice.tsx'
import { useRefusals } from '../parts/refusal.ts'
import { useUnsaved } from '../parts/unsaved.ts'
import { isSignedOut, needsLook, useSession } from '../session/session.tsx'
import { uploadFile } from '../session/upload.ts'
import { useChannelAction } from './actions.tsx'

export function UploadButton({ code }: { code: string }) {
  const { rights } = useSession()
  return rights.may('uploadFile') ? <Upload code={code} /> : null
}

type State =
  | { step: 'choosing'; fault?: string }
  | { step: 'moving'; name: string; octets: number; nth: number }

function Upload({ code }: { code: string }) {
  const all = useWords()
  const words = all.uploads
  const formats = useFormats()
  const tell = useTell()
  const { textOf } = useRefusals()
  const { user, look } = useSession()
  const send = useChannelAction('send', code)
  const [opened, setOpened] = useState(false)
  const [files, setFiles] = useState<readonly File[]>([])
  const [state, setState] = useState<State>({ step: 'choosing' })
  const opener = useRef<HTMLButtonElement>(null)
  const ending = useRef<AbortController>(undefined)
  const whole = files.reduce((sum, { size }) => sum + size, 0)

  function open(): void {
    setFiles([])
    setState({ step: 'choosing' })
    setOpened(true)
  }
  async function upload(): Promise<void> {
    const { signal } = (ending.current = new AbortController())
    let before = 0
    let done = 0
    try {
      for (const [nth, file] of files.entries()) {
        const moved = (octets: number) =>
          setState({ step: 'moving', name: file.name, octets: before + Math.min(octets, file.size), nth })
        moved(0)
        await uploadFile({ username: user.username, channelCode: code }, file, { signal, moved })
        before += file.size
        done++
      }
      tell.done(words.done(formats.number(files.length)))
      setOpened(false)
      // The question gives the focus back to where it was when it was asked; this dialog is gone then.
      opener.current?.focus()
      send?.ask()
    } catch (thrown) {
      if (needsLook(thrown)) void look()
      const fault = signal.aborted ? words.cancelled : textOf(thrown)
      // The sign-in says it; whoever comes back goes on here.
      setState({ step: 'choosing', ...(!isSignedOut(thrown) && { fault }) })
      // Those before it are there.
      setFiles(files.slice(done))
    }
  }
  const moving = state.step === 'moving'
  useUnsaved(opened && moving, words.leave)
  // Whoever leaves the page all the same does not want its files sent, nor to be asked on another page.
  useEffect(() => () => ending.current?.abort(new Error('left')), [])
  const cancel = () => (moving ? ending.current?.abort(new Error('cancelled')) : setOpened(false))
  return (
    <>
      <Button
        ref={opener}
        variant="default"
        leftSection={<IconUpload size={16} aria-hidden />}
        onClick={open}
      >
        {words.button}
      </Button>
      <Modal
        opened={opened}
        onClose={cancel}
        title={words.title}
        closeOnClickOutside={!moving}
        closeButtonProps={{ 'aria-label': all.app.close }}
      >
        <Stack gap="md">
          <Text fz="sm">{words.text}</Text>
          {!moving && (
            <label className="file-choice">
              <span>{words.files}</span>
              <input
                type="file"
                multiple
                data-autofocus
                onChange={(event) => setFiles([...(event.currentTarget.files ?? [])])}
              />
            </label>
          )}
          {!moving && files.length > 0 && (
            // After a fault the browser's own control names none; these are what is left to upload.
            <ul className="chosen-files words">
              {files.map(({ name }, index) => (
                <li key={index}>{name}</li>
              ))}
            </ul>
          )}
          {state.step === 'choosing' && state.fault !== undefined && (
            <Notice tone="bad" role="alert" title={words.failed}>
              {state.fault}
            </Notice>
          )}
          {state.step === 'moving' && (
            <div role="status">
              <Text fz="sm" className="words" mb={4}>
                {state.name}
                {files.length > 1 &&
                  ` · ${words.nth(formats.number(state.nth + 1), formats.number(files.length))}`}
              </Text>
              <Progress.Root size="lg" radius="xl">
                <Progress.Section
                  value={whole > 0 ? (state.octets / whole) * 100 : 0}
                  color="lock"
                  aria-label={words.progress}
                />
              </Progress.Root>
              <Text fz="xs" c="dimmed" mt={4}>
                {all.transfer.progressOf(formats.size(state.octets), formats.size(whole))}
              </Text>
            </div>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={cancel}>
              {moving ? words.stop : all.app.cancel}
            </Button>
            <BusyButton busy={moving} disabled={files.length === 0} onClick={() => void upload()}>
              {words.go}
            </BusyButton>
          </Group>
        </Stack>
      </Modal>
    </>
  )
}
