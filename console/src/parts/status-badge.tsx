// A status as colour, icon and word. It can be understood without the colour.

import {
  IconAlertTriangle,
  IconArrowsExchange,
  IconBan,
  IconBellRinging,
  IconCircleCheck,
  IconClockPause,
  IconCopyX,
  IconMoon,
  IconPower,
} from '@tabler/icons-react'
import type { ComponentType } from 'react'
import type { ExpectedDay } from '../../../sdk/index.ts'
import type { ChannelStatusValue } from '../../../src/contract/channel.ts'
import type { TransferStatus } from '../../../src/contract/transfer.ts'
import { useWords } from '../i18n/language.tsx'

export type Tone = 'good' | 'moving' | 'waiting' | 'bad' | 'closed' | 'off'
type Look = { tone: Tone; icon: ComponentType<{ size?: number; stroke?: number; 'aria-hidden'?: boolean }> }

export const CHANNEL_LOOKS: Record<ChannelStatusValue, Look> = {
  IDLE: { tone: 'good', icon: IconCircleCheck },
  IN_PROGRESS: { tone: 'moving', icon: IconArrowsExchange },
  PENDING: { tone: 'waiting', icon: IconClockPause },
  ERROR: { tone: 'bad', icon: IconAlertTriangle },
  CLOSED: { tone: 'closed', icon: IconMoon },
  INACTIVE: { tone: 'off', icon: IconPower },
}

const TRANSFER_LOOKS: Record<TransferStatus, Look> = {
  PENDING: CHANNEL_LOOKS.PENDING,
  IN_PROGRESS: CHANNEL_LOOKS.IN_PROGRESS,
  COMPLETED: { tone: 'good', icon: IconCircleCheck },
  FAILED: CHANNEL_LOOKS.ERROR,
  CANCELLED: { tone: 'off', icon: IconBan },
}

const EXPECTATION_LOOKS: Record<ExpectedDay['state'], Look> = {
  waiting: { tone: 'waiting', icon: IconClockPause },
  warned: { tone: 'waiting', icon: IconBellRinging },
  met: { tone: 'good', icon: IconCircleCheck },
  missed: { tone: 'bad', icon: IconAlertTriangle },
  late: { tone: 'moving', icon: IconCircleCheck },
  excess: { tone: 'bad', icon: IconCopyX },
}

export function ExpectationBadge({ state }: { state: ExpectedDay['state'] }) {
  const words = useWords()
  return <Badge look={EXPECTATION_LOOKS[state]} label={words.expectationState[state]} />
}

export function ChannelBadge({ status }: { status: ChannelStatusValue }) {
  const words = useWords()
  return <Badge look={CHANNEL_LOOKS[status]} label={words.channelStatus[status]} />
}

export function TransferBadge({ status }: { status: TransferStatus }) {
  const words = useWords()
  return <Badge look={TRANSFER_LOOKS[status]} label={words.transferStatus[status]} />
}

function Badge({ look: { tone, icon: Icon }, label }: { look: Look; label: string }) {
  return (
    <span className="badge" data-tone={tone}>
      <Icon size={15} stroke={2} aria-hidden />
      {label}
    </span>
  )
}
