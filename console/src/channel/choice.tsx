// Which failed transfers are chosen, and what can be done with them together. The choice stays from page to page of a list
// and ends with another filter: nobody retries what they no longer see.

import type { FailedTransfer } from '../../../sdk/index.ts'
import { Button, Checkbox, Group, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { useFormats, useWords } from '../i18n/language.tsx'
import { useTell } from '../parts/ask.tsx'
import { useSession } from '../session/session.tsx'
import { SeveralDialog } from './several-dialog.tsx'
import { isOpen } from './several.ts'
import type { SeveralAction } from './several.ts'

/** As many as an operator can follow; the newest of more. */
const MOST = 1000

export type Choice = {
  has(failure: FailedTransfer): boolean
  set(failure: FailedTransfer, on: boolean): void
}

export function useChoice(filter: string) {
  const [held, setHeld] = useState<{ filter: string; chosen: readonly FailedTransfer[] }>({
    filter,
    chosen: [],
  })
  const chosen = held.filter === filter ? held.chosen : []
  const isChosen = ({ transferId }: FailedTransfer) => chosen.some((one) => one.transferId === transferId)
  return {
    chosen,
    has: isChosen,
    replace: (all: readonly FailedTransfer[]) => setHeld({ filter, chosen: all }),
    set: (failure: FailedTransfer, on: boolean) => {
      const rest = chosen.filter(({ transferId }) => transferId !== failure.transferId)
      setHeld({ filter, chosen: on ? [...rest, failure] : rest })
    },
  }
}

type BarProps = {
  choice: ReturnType<typeof useChoice>
  /** On this page of the list. */
  shown: readonly FailedTransfer[]
  /** Whether the list has other pages. */
  more: boolean
  /** A page of all that match, and whether it is the last. */
  read(page: number, size: number): Promise<{ content: FailedTransfer[]; last: boolean }>
}

export function ChoiceBar({ choice, shown, more, read }: BarProps) {
  const { several: words } = useWords()
  const formats = useFormats()
  const tell = useTell()
  const { rights } = useSession()
  const [action, setAction] = useState<SeveralAction>()
  const count = useRef<HTMLDivElement>(null)
  const asker = useRef<HTMLElement>(null)
  // After a dialog: to its button, or, where that is gone with the choice, to what is chosen now.
  useEffect(() => {
    if (action !== undefined || asker.current === null) return
    if (asker.current.isConnected) asker.current.focus()
    else count.current?.focus()
    asker.current = null
  }, [action])
  const all = useMutation({
    mutationFn: () => readOpen(read),
    onSuccess: choice.replace,
    onError: tell.refused,
  })
  const { chosen } = choice
  const open = shown.filter(isOpen)
  const here = open.filter(choice.has).length
  const onPage = (on: boolean) => {
    const others = chosen.filter((one) => !open.some(({ transferId }) => transferId === one.transferId))
    choice.replace(on ? [...others, ...open] : others)
  }
  const ask = (wanted: SeveralAction) => (event: { currentTarget: HTMLElement }) => {
    asker.current = event.currentTarget
    setAction(wanted)
  }
  return (
    <Group role="group" aria-label={words.group} gap="sm" mb="md" className="choice-bar">
      <Checkbox
        label={words.page}
        checked={open.length > 0 && here === open.length}
        indeterminate={here > 0 && here < open.length}
        disabled={open.length === 0}
        onChange={(event) => onPage(event.currentTarget.checked)}
      />
      {more && (
        <Button variant="default" size="xs" loading={all.isPending} onClick={() => all.mutate()}>
          {words.all}
        </Button>
      )}
      <Text fz="sm" role="status" ref={count} tabIndex={-1}>
        {words.chosen(formats.number(chosen.length))}
        {chosen.length === MOST && ` (${words.most})`}
      </Text>
      {chosen.length > 0 && (
        <>
          <Button variant="subtle" size="xs" onClick={() => choice.replace([])}>
            {words.none}
          </Button>
          <div className="spread" />
          {rights.may('retryTransfer') && (
            <Button size="xs" onClick={ask('retry')}>
              {words.button.retry}
            </Button>
          )}
          {rights.may('resetChannel') && (
            <Button size="xs" variant="default" onClick={ask('reset')}>
              {words.button.reset}
            </Button>
          )}
        </>
      )}
      {action && (
        <SeveralDialog
          action={action}
          failures={newestFirst(chosen)}
          close={(results) => {
            setAction(undefined)
            // What could not be done stays chosen, unless it is over: it may be possible later, or the other action is.
            if (results)
              choice.replace(
                results
                  .filter(
                    ({ outcome }) =>
                      outcome.kind !== 'done' &&
                      !(outcome.kind === 'impossible' && outcome.why === 'HANDLED'),
                  )
                  .map(({ failure }) => failure),
              )
          }}
        />
      )}
    </Group>
  )
}

/** A channel retries its latest failure first. */
function newestFirst(failures: readonly FailedTransfer[]): FailedTransfer[] {
  return failures.toSorted(
    (a, b) => Date.parse(b.endedAt) - Date.parse(a.endedAt) || (a.transferId < b.transferId ? 1 : -1),
  )
}

async function readOpen(read: BarProps['read']): Promise<FailedTransfer[]> {
  const found = new Map<string, FailedTransfer>()
  for (let page = 1, last = false; !last && found.size < MOST; page++) {
    const answer = await read(page, MOST)
    last = answer.last
    for (const one of answer.content.filter(isOpen)) found.set(one.transferId, one)
  }
  return [...found.values()].slice(0, MOST)
}
