// A subscription between the file and the database: secrets sealed on the way in, opened on the way out if asked.

import { secretsPlace } from '../store/events/subscriptions.ts'
import type { SubscriptionRecord, SubscriptionSettings } from '../store/events/subscriptions.ts'
import type { Seal } from '../store/seal.ts'
import type { PlatformSubscription } from '../contract/administration/platform-file.ts'

export type SubscriptionPlan = Pick<SubscriptionRecord, 'id' | 'settings' | 'secrets'>

export function subscriptionOf(
  { id, webhook, mail, events, channels }: PlatformSubscription,
  before: SubscriptionPlan | undefined,
  seal: Seal,
): SubscriptionPlan {
  const settings: SubscriptionSettings = {
    ...(webhook && { webhook: { url: webhook.url } }),
    ...(mail && { mail: { to: mail.to, language: mail.language ?? 'en' } }),
    events,
    ...(channels && { channels }),
  }
  return { id, settings, secrets: webhook ? sealedSecrets(id, webhook.secrets, before, seal) : '' }
}

/** Left out of the file they stay as they are; the same ones keep their sealed form. */
function sealedSecrets(
  id: string,
  secrets: readonly string[] | undefined,
  before: SubscriptionPlan | undefined,
  seal: Seal,
): string {
  const old = before?.secrets ?? ''
  if (secrets === undefined) return old
  const text = JSON.stringify(secrets)
  return old !== '' && seal.open(secretsPlace(id), old) === text ? old : seal.seal(secretsPlace(id), text)
}

export function openSecrets({ id, secrets }: SubscriptionPlan, seal: Seal): string[] {
  return secrets === '' ? [] : (JSON.parse(seal.open(secretsPlace(id), secrets)) as string[]) // written just above
}

/** `seal`: with its secrets. */
export function toPlatformSubscription(
  record: SubscriptionPlan,
  seal: Seal | undefined,
): PlatformSubscription {
  const { webhook, mail, events, channels } = record.settings
  const secrets = seal && webhook ? openSecrets(record, seal) : []
  return {
    id: record.id,
    ...(webhook && { webhook: { url: webhook.url, ...(secrets.length > 0 && { secrets }) } }),
    ...(mail && { mail }),
    events,
    ...(channels && { channels }),
  }
}
