// The states of a page that has nothing to show: loading, failed, empty, not there.

import { ClientError } from '../../../sdk/index.ts'
import { Button, Skeleton, Stack, Text, Title } from '@mantine/core'
import { IconAlertTriangle, IconInbox, IconLock, IconMapOff } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useWords } from '../i18n/language.tsx'
import { useTitle } from './page-title.tsx'
import { useRefusals } from './refusal.ts'

export function Loading() {
  const words = useWords()
  return (
    <Stack role="status" aria-label={words.app.loading} gap="md">
      <Skeleton height={32} width="40%" />
      <Skeleton height={120} />
      <Skeleton height={240} />
    </Stack>
  )
}

type EmptyProps = { icon?: ReactNode; title: string; help?: string; children?: ReactNode }

export function Empty({ icon, title, help, children }: EmptyProps) {
  return (
    <div className="empty">
      <div className="empty-icon" aria-hidden>
        {icon ?? <IconInbox size={28} stroke={1.5} />}
      </div>
      <Text fw={600}>{title}</Text>
      {help && (
        <Text c="dimmed" fz="sm" maw={440}>
          {help}
        </Text>
      )}
      {children}
    </div>
  )
}

type FailedProps = {
  error: unknown
  again?: () => void
  /** Of a page about one channel: a refusal is about that channel. */
  ofChannel?: boolean
}

export function Failed({ error, again, ofChannel = false }: FailedProps) {
  const words = useWords()
  const { textOf } = useRefusals()
  if (error instanceof ClientError && error.status === 404) return <NotFound />
  // What the address has in the place of its code is none.
  if (error instanceof ClientError && error.status === 400 && ofChannel) return <NotFound />
  if (error instanceof ClientError && error.status === 403 && !ofChannel) return <NotForYou />
  if (error instanceof ClientError && error.status === 403)
    return (
      <DeadEnd
        icon={<IconLock size={28} stroke={1.5} />}
        title={words.channel.forbidden}
        help={words.channel.forbiddenHelp}
      />
    )
  return (
    <Empty icon={<IconAlertTriangle size={28} />} title={words.app.loadFailed} help={textOf(error)}>
      {again && (
        <Button variant="default" onClick={again}>
          {words.app.retryLoad}
        </Button>
      )}
    </Empty>
  )
}

/** A page that this user's role or permissions do not open. */
export function NotForYou() {
  const { app } = useWords()
  return <DeadEnd icon={<IconLock size={28} stroke={1.5} />} title={app.notForYou} help={app.notForYouHelp} />
}

export function NotFound() {
  const { app } = useWords()
  return <DeadEnd icon={<IconMapOff size={28} stroke={1.5} />} title={app.notFound} help={app.notFoundHelp} />
}

/** The whole page has nothing to show; there is a way back. */
function DeadEnd({ icon, title, help }: { icon: ReactNode; title: string; help: string }) {
  const words = useWords()
  useTitle(title)
  return (
    <div className="empty">
      <div className="empty-icon" aria-hidden>
        {icon}
      </div>
      <Title order={1} fz="h3" tabIndex={-1}>
        {title}
      </Title>
      <Text c="dimmed" fz="sm">
        {help}
      </Text>
      <Button component={Link} href="/" variant="default">
        {words.app.backToOverview}
      </Button>
    </div>
  )
}
