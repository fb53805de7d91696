// Turns a contact of the file into its record in the store, and back: what the interface shows, the settings of its
// protocol, and its secrets, each sealed under its JSON pointer.

import { CONTACT_SECRETS, SECTIONS } from '../contract/contact-settings.ts'
import type { ContactSections } from '../contract/contact-settings.ts'
import { contactPlace, openProtocolSections } from '../store/contacts.ts'
import type { ContactRecord } from '../store/contacts.ts'
import type { Seal } from '../store/seal.ts'
import type { PlatformContact } from '../contract/administration/platform-file.ts'
import type { JsonObject } from '../json.ts'

/**
 * A secret that is left out keeps its value in the database, as long as its section is there. Null clears it. With
 * `keepPeople` contactInfo that is left out stays too: an empty list clears it.
 */
export function contactOf(
  contact: PlatformContact,
  before: ContactRecord | undefined,
  { seal, keepPeople = false }: { seal: Seal; keepPeople?: boolean | undefined },
): ContactRecord {
  const { protocol = 'oftp2', folder, oftp2, sftp, access, quota, ...given } = contact
  const people = keepPeople && before?.data.contactInfo
  const data = people ? { contactInfo: people, ...given } : given
  const settings: ContactSections = structuredClone(withoutUndefined({ folder, oftp2, sftp, access, quota }))
  const secrets: Record<string, string> = {}
  for (const pointer of CONTACT_SECRETS) {
    const section = sectionAt(settings, pointer)
    if (!section) continue
    const field = pointer.slice(pointer.lastIndexOf('/') + 1)
    const given = section[field]
    delete section[field]
    const kept = before?.secrets[pointer]
    if (given === undefined && kept !== undefined) secrets[pointer] = kept
    if (typeof given === 'string')
      secrets[pointer] = sealed(seal, contactPlace(contact.id, pointer), given, kept)
  }
  return { id: contact.id, protocol, data, settings, secrets }
}

/** A value that did not change keeps its sealed form. */
function sealed(seal: Seal, place: string, given: string, kept: string | undefined): string {
  return kept !== undefined && seal.open(place, kept) === given ? kept : seal.seal(place, given)
}

export function toPlatformContact(contact: ContactRecord, seal: Seal | undefined): PlatformContact {
  const settings = seal ? openProtocolSections(seal, contact) : contact.settings
  const sections = Object.fromEntries(
    SECTIONS.flatMap((name) => (settings[name] === undefined ? [] : [[name, settings[name]]])),
  )
  return { ...contact.data, id: contact.id, protocol: contact.protocol, ...sections } as PlatformContact // written by contactOf alone
}

function sectionAt(settings: ContactSections, pointer: string): JsonObject | undefined {
  let at: unknown = settings
  for (const step of pointer.split('/').slice(1, -1)) at = (at as JsonObject | undefined)?.[step]
  return at as JsonObject | undefined
}

function withoutUndefined(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
