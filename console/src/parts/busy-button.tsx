// A button that waits for what it began. It stays enabled and does nothing meanwhile: one that is disabled cannot take the
// focus back from the question before it, and the focus would fall to the beginning of the page.

import { Button, Loader } from '@mantine/core'
import type { ButtonProps } from '@mantine/core'
import type { ReactNode } from 'react'

type Props = ButtonProps & {
  busy: boolean
  onClick(): void
  children: ReactNode
  'aria-label'?: string | undefined
}

export function BusyButton({ busy, onClick, leftSection, ...props }: Props) {
  return (
    <Button
      {...props}
      aria-busy={busy}
      leftSection={busy ? <Loader size={16} color="currentColor" aria-hidden /> : leftSection}
      onClick={busy ? undefined : onClick}
    />
  )
}
