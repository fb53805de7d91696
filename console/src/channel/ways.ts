// Which ways a channel lets files go, as far as its configuration says. What else stands in the way, the node says.

import type { Channel } from '../../../sdk/index.ts'
import { closedBecause, goes } from '../../../src/domain/channel.ts'

export function maySend(channel: Channel): boolean {
  return goes(channel, 'EMISION') && closedBecause(channel, 'EMISION') === undefined
}

/** Whether this node may call for what the channel receives. */
export function mayFetch(channel: Channel): boolean {
  const callingEnd = channel.connection?.advancedConfigurationConnection?.callingEnd
  return (
    goes(channel, 'RECEPCION') && closedBecause(channel, 'RECEPCION') === undefined && callingEnd !== 'REMOTO'
  )
}
