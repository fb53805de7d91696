// Every operation of the contract with the function that carries it out. The type makes a missing one an error.

import type { OperationName } from '../contract/operations.ts'
import {
  channelConfiguration,
  channelHistory,
  channelStatus,
  listChannels,
  setInboundPath,
  setOutboundPath,
  updateChannel,
  updateDirectories,
  updateIps,
} from './integration/channels.ts'
import { listContacts } from './integration/contacts.ts'
import type { Handler } from './context.ts'
import { loginV1, loginV2 } from './integration/login.ts'
import {
  listTransfers,
  resetChannel,
  retryTransfer,
  sendTransfer,
  transferDetail,
} from './integration/transfers.ts'

export const handlers: { [N in OperationName]: Handler<N> } = {
  loginV1,
  loginV2,
  listChannels,
  channelConfiguration,
  channelStatus,
  channelHistory,
  updateChannel,
  updateIps,
  updateDirectories,
  setOutboundPath,
  setInboundPath,
  listTransfers,
  transferDetail,
  resetChannel,
  retryTransfer,
  sendTransfer,
  listContacts,
}
