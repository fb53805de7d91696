// The operations about events and expectations, with the functions that carry them out.

import type { Boards } from '../platform/channel-board.ts'
import type { PlatformHandlers } from '../platform/handler.ts'
import { listEvents } from './events.ts'
import { makeExpectationHandlers } from './expectations.ts'
import {
  enableSubscription,
  listDeliveries,
  listSubscriptions,
  resendDelivery,
  testSubscription,
} from './subscriptions.ts'
import { yearHandlers } from './years.ts'

export function makeNotificationHandlers(boardOf: Boards) {
  return {
    listEvents,
    listSubscriptions,
    testSubscription,
    enableSubscription,
    listDeliveries,
    resendDelivery,
    ...makeExpectationHandlers(boardOf),
    ...yearHandlers,
  } satisfies Partial<PlatformHandlers>
}
