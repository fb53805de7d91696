// Tells of certificates that end soon: those of channels, of partners' TLS and of this node's listeners. Each is told once when a month, a week
// and a day are left, and when it has ended, however many channels use it.

import { createHash, X509Certificate } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { showTime } from '../domain/time.ts'
import { listChannels, openChannel } from '../store/channels.ts'
import { listContacts } from '../store/contacts.ts'
import { noteKey } from '../store/events/key-notices.ts'
import { addEvent } from '../store/events/outbox.ts'
import type { NotifyParts } from './parts.ts'

const DAY_MS = 86_400_000
const TOLD_AT_DAYS = [0, 1, 7, 30]

type Place = { pem: string; use: string; channelCode?: string; contactId?: string }
type Ending = { fingerprint: string; subject: string; endsAt: number }
export type Certificate = Ending & Omit<Place, 'pem'>

export async function tellExpiringKeys(parts: NotifyParts, now: number): Promise<void> {
  for await (const certificate of certificatesInUse(parts)) await tellIfSoon(parts, certificate, now)
}

/** Each once, where it is found first. */
export async function* certificatesInUse(
  parts: Pick<NotifyParts, 'store' | 'seal' | 'listeners'>,
): AsyncGenerator<Certificate> {
  const seen = new Set<string>()
  for await (const { pem: text, ...place } of places(parts))
    for (const pem of text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []) {
      const certificate = parse(pem)
      if (!certificate || seen.has(certificate.fingerprint)) continue
      seen.add(certificate.fingerprint)
      yield { ...certificate, ...place }
    }
}

/** One that does not parse was refused when it was set; here it is passed over. */
function parse(pem: string): Ending | undefined {
  try {
    const { raw, subject, validTo } = new X509Certificate(pem)
    return {
      fingerprint: createHash('sha256').update(raw).digest('hex'),
      subject,
      endsAt: Date.parse(validTo),
    }
  } catch {
    return undefined
  }
}

async function tellIfSoon(
  { store, zone }: NotifyParts,
  { use, channelCode, contactId, fingerprint, subject, endsAt }: Certificate,
  now: number,
): Promise<void> {
  const days = Math.max(0, Math.floor((endsAt - now) / DAY_MS))
  const within = TOLD_AT_DAYS.find((least) => (endsAt <= now ? 0 : days + 1) <= least)
  if (within === undefined) return
  await store.write(async (tx) => {
    if (!(await noteKey(tx, fingerprint, within, now))) return
    const name = subject.replaceAll('\n', ', ')
    const data = { fingerprint, name, use, expiresAt: showTime(endsAt, zone), days }
    await addEvent(tx, { type: 'key.expiring', at: now, channelCode, contactId, data })
  })
}

/** Opening a channel's keys takes a while with thousands of channels: requests get their turn in between. */
async function* places({
  store,
  seal,
  listeners,
}: Pick<NotifyParts, 'store' | 'seal' | 'listeners'>): AsyncGenerator<Place> {
  for (const shown of await listeners()) yield shown
  for (const { id, settings } of await listContacts(store.db)) {
    const { ca, cert } = settings.oftp2?.tls ?? {}
    if (ca !== undefined) yield { pem: ca, use: `oftp2.tls.ca of contact ${id}`, contactId: id }
    if (cert !== undefined) yield { pem: cert, use: `oftp2.tls.cert of contact ${id}`, contactId: id }
  }
  for (const [nth, channel] of (await listChannels(store.db)).entries()) {
    if (nth % 20 === 0) await setImmediate()
    if (!channel.secrets.rsaLocalKey && !channel.secrets.rsaRemoteKey) continue
    const { rsaLocalKey, rsaRemoteKey } = openChannel(seal, channel).security ?? {}
    const place = { channelCode: channel.code, contactId: channel.contactId }
    if (rsaLocalKey) yield { ...place, pem: rsaLocalKey, use: 'security.rsaLocalKey' }
    if (rsaRemoteKey) yield { ...place, pem: rsaRemoteKey, use: 'security.rsaRemoteKey' }
  }
}
