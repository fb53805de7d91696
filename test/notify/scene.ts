// A notifier at work on a store of its own, with a clock that tests can move.

import type { TestContext } from 'node:test'
import { readConfig } from '../../src/config.ts'
import { makeLog } from '../../src/log.ts'
import { Notifier } from '../../src/notify/notifier.ts'
import type { Store } from '../../src/store/database/store.ts'
import { addEvent } from '../../src/store/events/outbox.ts'
import { putSubscription, secretsPlace } from '../../src/store/events/subscriptions.ts'
import type { SubscriptionSettings } from '../../src/store/events/subscriptions.ts'
import { makeSeal } from '../../src/store/seal.ts'
import { closeAfter, tempFolder, waitFor } from '../support/harness.ts'

export const MASTER_KEY = '0'.repeat(32)
export const seal = makeSeal(MASTER_KEY)

export type SceneOptions = {
  settings?: Record<string, string>
  owner?: string
  postMs?: number
  mailMs?: number
}

export async function startNotifier(
  t: TestContext,
  store: Store,
  options: SceneOptions = {},
): Promise<Notifier> {
  const config = readConfig({
    ESCLUSA_DATA_DIR: await tempFolder(t),
    ESCLUSA_WEBHOOK_NETWORKS: '127.0.0.0/8',
    // A notifier that is slow for a while is not taken for gone.
    ESCLUSA_LEASE_SECONDS: '60',
    ...options.settings,
  })
  const log = makeLog('silent', 'test')
  const { owner = 'one', postMs, mailMs } = options
  const notifier = new Notifier({
    ...{ config, store, seal, log, owner, version: '0' },
    ...(postMs !== undefined && { postMs }),
    ...(mailMs !== undefined && { mailMs }),
  })
  notifier.start()
  closeAfter(t, () => notifier.stop())
  return notifier
}

export async function subscribe(
  store: Store,
  id: string,
  settings: Partial<SubscriptionSettings>,
  secrets: string[] = [],
): Promise<void> {
  const sealed = secrets.length === 0 ? '' : seal.seal(secretsPlace(id), JSON.stringify(secrets))
  await store.write((tx) =>
    putSubscription(tx, { id, settings: { events: ['*'], ...settings }, secrets: sealed }),
  )
}

/** Events of channels, in order; each names its number. */
export async function happen(store: Store, channels: readonly string[], first = 0): Promise<void> {
  await store.write(async (tx) => {
    for (const [nth, channelCode] of channels.entries())
      await addEvent(tx, {
        type: 'channel.updated',
        at: Date.now(),
        channelCode,
        data: { detail: String(first + nth) },
      })
  })
}

/** Waits for something and gives it back. */
export async function found<T>(
  what: string,
  look: () => T | undefined | Promise<T | undefined>,
  ms?: number,
): Promise<T> {
  return (await waitFor(what, look, ms)) as T // it waits for as long as it is undefined
}
