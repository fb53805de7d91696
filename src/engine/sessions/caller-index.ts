// Which contact a caller is, by what it calls itself: one look in memory and one row by its key, however many contacts
// there are. What is found is compared with the contact as it is now. What is not found may be new: then all contacts are
// read again, once for all who wait for it, and seldom enough that strangers cannot keep the node busy with it.

import type { ContactRecord } from '../../store/contacts.ts'
import type { Protocol } from '../transports/transport.ts'

/** The contacts as the database has them. */
export type Contacts = {
  all(): Promise<ContactRecord[]>
  one(id: string): Promise<ContactRecord | undefined>
}

type Naming = Pick<Protocol, 'protocol' | 'sections' | 'callerIds'>

/** Reading all contacts takes at most one part in so many of the time. */
const SHARE = 10
const LONGEST_PAUSE_MS = 1000

export class CallerIndex {
  readonly #contacts: Contacts
  readonly #naming: Naming
  #ids: ReadonlyMap<string, string> = new Map()
  #reading: Promise<void> | undefined
  #notBefore = 0

  constructor(contacts: Contacts, naming: Naming) {
    this.#contacts = contacts
    this.#naming = naming
  }

  async find(callerId: string): Promise<ContactRecord | undefined> {
    const known = await this.#look(callerId)
    if (known) return known
    if (this.#reading) {
      await this.#reading
      const found = await this.#look(callerId)
      if (found) return found
      // It may have read before the contact was there.
    }
    await (this.#reading ??= this.#read().finally(() => (this.#reading = undefined)))
    return this.#look(callerId)
  }

  async #look(callerId: string): Promise<ContactRecord | undefined> {
    const id = this.#ids.get(callerId)
    const contact = id === undefined ? undefined : await this.#contacts.one(id)
    return contact && this.#idsOf(contact).includes(callerId) ? contact : undefined
  }

  async #read(): Promise<void> {
    const pause = this.#notBefore - performance.now()
    if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause))
    const begun = performance.now()
    const ids = new Map<string, string>()
    for (const contact of await this.#contacts.all())
      for (const id of this.#idsOf(contact)) if (!ids.has(id)) ids.set(id, contact.id)
    this.#ids = ids
    const took = performance.now() - begun
    this.#notBefore = begun + took + Math.min(LONGEST_PAUSE_MS, took * SHARE)
  }

  #idsOf({ protocol, settings, data }: ContactRecord): readonly string[] {
    const { protocol: own, sections, callerIds } = this.#naming
    if (protocol !== own) return []
    const remoteCodes = (data.remoteCodes ?? []).flatMap(({ code }) => (code === undefined ? [] : [code]))
    return callerIds({ settings: settings[sections.called], remoteCodes })
  }
}
