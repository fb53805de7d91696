// What holds a transfer that waits, in a terminal's words.

import type { Waiting } from '../../../sdk/index.ts'
import { when } from '../print.ts'

const WAITS: Record<Waiting['reason'], string> = {
  CLOSED: 'the channel is switched off this way',
  HOURS: 'outside its hours',
  PARTNER_CALL: 'the partner must call',
  PARTNER_DOWN: 'the partner cannot be reached',
  RETRY: 'the next attempt',
  RECEIPT: 'the partner’s receipt',
  TURN: 'a free place',
}

export function waitInWords({ reason, until }: Waiting): string {
  return until === undefined ? WAITS[reason] : `${WAITS[reason]}, until ${when(until)}`
}
