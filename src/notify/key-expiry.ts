// Tells of certificates that end soon: those of channels, of partners' TLS and of this node's listeners. Each is told once when a month, a week
// and a day are left, and when it has ended, however many channels use it.

import { DAY_MS, showTime } from '../domain/time.ts'
import { certificatesIn } from '../domain/channel-faults.ts'
import { publicPartOf } from '../keys/key-facts.ts'
import { keysOfChannels } from '../keys/known-keys.ts'
import { listContacts } from '../store/contacts.ts'
import { noteKey } from '../store/events/key-notices.ts'
import { addEvent } from '../store/events/outbox.ts'
import { channelVersions } from '../store/keys/known-keys.ts'
import type { NotifyParts } from './parts.ts'

const TOLD_AT_DAYS = [0, 1, 7, 30]

const USES = { LOCAL: 'security.rsaLocalKey', REMOTE: 'security.rsaRemoteKey' } as const

export type Certificate = {
  fingerprint: string
  subject: string
  endsAt: number
  use: string
  channelCode?: string
  contactId?: string
  /** Where several channels use it, or the node and channels. */
  channels?: readonly string[]
}

type Parts = Pick<NotifyParts, 'store' | 'seal' | 'listeners'>

export async function tellExpiringKeys(parts: NotifyParts, now: number): Promise<void> {
  for await (const certificate of certificatesInUse(parts)) await tellIfSoon(parts, certificate, now)
}

/** Each once, where it is found first, with the channels that use it. */
export async function* certificatesInUse(parts: Parts): AsyncGenerator<Certificate> {
  const found = [...(await ofNodeAndPartners(parts)), ...(await ofChannels(parts))]
  for (const uses of Map.groupBy(found, ({ fingerprint }) => fingerprint).values()) {
    const [first] = uses
    const channels = [...new Set(uses.flatMap(({ channelCode }) => channelCode ?? []))]
    if (first) yield { ...first, ...(channels.length > 0 && { channels }) }
  }
}

async function tellIfSoon(
  { store, zone }: NotifyParts,
  { use, fingerprint, subject, endsAt, ...place }: Certificate,
  now: number,
): Promise<void> {
  const days = Math.max(0, Math.floor((endsAt - now) / DAY_MS))
  const within = TOLD_AT_DAYS.find((least) => (endsAt <= now ? 0 : days + 1) <= least)
  if (within === undefined) return
  await store.write(async (tx) => {
    if (!(await noteKey(tx, fingerprint, within, now))) return
    const data = { fingerprint, name: subject, use, expiresAt: showTime(endsAt, zone), days }
    await addEvent(tx, { type: 'key.expiring', at: now, ...whose(place), data })
  })
}

/** One of a partner is told as the partner's, and to whoever watches any of its channels. */
function whose({
  channelCode,
  contactId,
  channels = [],
}: Pick<Certificate, 'channelCode' | 'contactId' | 'channels'>) {
  const isPartners = channelCode === undefined && contactId !== undefined
  return isPartners || channels.length === 0 || (channels.length === 1 && channelCode !== undefined)
    ? { channelCode, contactId }
    : { channels }
}

async function ofNodeAndPartners({ store, listeners }: Parts): Promise<Certificate[]> {
  const found = (await listeners()).flatMap(({ pem, use }) => certificatesOf(pem, { use }))
  for (const { id, settings } of await listContacts(store.db)) {
    const { ca, cert } = settings.oftp2?.tls ?? {}
    found.push(...certificatesOf(ca, { use: `oftp2.tls.ca of contact ${id}`, contactId: id }))
    found.push(...certificatesOf(cert, { use: `oftp2.tls.cert of contact ${id}`, contactId: id }))
  }
  return found
}

/** One that does not parse was refused when it was set; here it is passed over. */
function certificatesOf(pem: string | undefined, place: { use: string; contactId?: string }): Certificate[] {
  return certificatesIn(pem ?? '').flatMap((one) => {
    const { fingerprint, subject = '', validTo } = publicPartOf(one) ?? {}
    return fingerprint === undefined || validTo === undefined
      ? []
      : { fingerprint, subject, endsAt: validTo, ...place }
  })
}

async function ofChannels(parts: Parts): Promise<Certificate[]> {
  const channels = await channelVersions(parts.store.db)
  const keys = await keysOfChannels(parts, channels)
  return channels.flatMap(({ code, contactId }) =>
    (keys.get(code) ?? []).flatMap(({ side, fingerprint, subject = '', endsAt }) =>
      endsAt === undefined
        ? []
        : { fingerprint, subject, endsAt, use: USES[side], channelCode: code, contactId },
    ),
  )
}
