// What each partner may have lying in this node's data folder: files on their way in (over SFTP under temporary names,
// too), half files that are kept for it to go on with, and files of its in quarantine. Files that are in their place are no
// longer counted.
//
// Whatever is kept is read from the database when a file is offered; what is open here is counted octet by octet. Other
// nodes' open files count as far as they are recorded. A file of which octets are missing counts to its end.

import { NodeError } from '../../errors.ts'
import { DiskRoom } from '../../files/disk-room.ts'
import { addHistory } from '../../store/channels.ts'
import { quarantinedOf } from '../../store/quarantine.ts'
import { keptHalfFilesOf, textOfKey } from '../../store/transfers/receptions.ts'
import type { FileKey } from '../../store/transfers/receptions.ts'
import type { EngineContext } from '../engine-context.ts'
import type { TransferPlan } from '../transfer-plan.ts'
import type { Incoming } from '../transports/transport.ts'

type Use = { octets: number; files: number }
type Half = { key: FileKey; position: number }

/** One partner's. Thousands of small files come and go, so what is open is summed up as it changes. */
class Account {
  kept = none()
  notedAt = 0
  readonly open = none()
  /** How often a file is open: its last session may not know yet that another one brings it anew. */
  readonly #keys = new Map<string, number>()

  opened(key: string, octets: number): void {
    this.open.files++
    this.open.octets += octets
    this.#keys.set(key, (this.#keys.get(key) ?? 0) + 1)
  }

  closed(key: string, octets: number): void {
    this.open.files--
    this.open.octets -= octets
    const others = (this.#keys.get(key) ?? 0) - 1
    if (others > 0) this.#keys.set(key, others)
    else this.#keys.delete(key)
  }

  isOpen(key: string): boolean {
    return this.#keys.has(key)
  }
}

/** A partner may run into its quota as often as it likes. The history gets one entry a minute. */
const NOTES_APART_MS = 60_000
const SMALL_OCTETS = 1024 * 1024

export class Quotas {
  readonly #context: EngineContext
  readonly #accounts = new Map<string, Account>()
  #room: DiskRoom | undefined

  constructor(context: EngineContext) {
    this.#context = context
  }

  /** Room for one more file of so many octets, or no_space. `leave` when nothing of it is open any more. */
  async enter(plan: TransferPlan, key: FileKey, octets: number): Promise<FileQuota> {
    const { contact } = plan
    const account = this.#accounts.get(contact.id) ?? new Account()
    this.#accounts.set(contact.id, account)
    // At once: of many that come together each counts for the others.
    const text = textOfKey(key)
    const limit = limitOf(plan, this.#context)
    const quota = new FileQuota(account, { key: text, octets }, limit, () => this.#met(plan, account))
    try {
      const halves = await keptHalfFilesOf(this.#context.store.db, contact.id)
      account.kept = await this.#kept(contact.id, account, halves)
      quota.require()
      // Its own half is on the disk already.
      const half = halves.find((one) => textOfKey(one.key) === text)
      const missing = octets - (half?.position ?? 0)
      // One for all files: thousands of small ones are looked at together.
      const { staging, limits } = this.#context
      this.#room ??= new DiskRoom(await staging.incomingFolder(), limits.diskReserveOctets)
      if (missing < SMALL_OCTETS) await this.#room.wrote(0)
      else await this.#room.require(missing)
      quota.room = this.#room
      return quota
    } catch (thrown) {
      quota.leave()
      throw thrown
    }
  }

  /** Without the files that are open here: those are counted as they grow. */
  async #kept(contactId: string, account: Account, halves: readonly Half[]): Promise<Use> {
    const use = await quarantinedOf(this.#context.store.db, contactId)
    for (const { key, position } of halves) {
      if (account.isOpen(textOfKey(key))) continue
      use.files++
      use.octets += position
    }
    return use
  }

  #met({ contact, code }: TransferPlan, account: Account): void {
    const { log, now, store, quotaMet } = this.#context
    quotaMet()
    if (now() - account.notedAt < NOTES_APART_MS) return
    account.notedAt = now()
    log.warn({ contact: contact.id, channel: code }, 'a partner has all the room that it may have')
    const detail = `${contact.id}: quota met, files are refused until some are finished or cleared away`
    void store
      .write((tx) => addHistory(tx, code, [{ at: now(), event: 'CONNECTION_REFUSED', detail }]))
      .catch((thrown: unknown) => log.error({ err: thrown }, 'a met quota could not be recorded'))
  }
}

class FileQuota {
  room: DiskRoom | undefined
  readonly #account: Account
  readonly #key: string
  #octets: number
  readonly #limit: Use
  readonly #met: () => void
  #left = false

  constructor(account: Account, open: { key: string; octets: number }, limit: Use, met: () => void) {
    this.#account = account
    this.#key = open.key
    this.#octets = open.octets
    this.#limit = limit
    this.#met = met
    account.opened(open.key, open.octets)
  }

  /** Octets up to `end` are about to be there. */
  grow(end: number): void {
    if (end <= this.#octets) return
    this.#take(end)
    this.require()
  }

  cut(length: number): void {
    this.#take(Math.min(this.#octets, length))
  }

  #take(octets: number): void {
    if (!this.#left) this.#account.open.octets += octets - this.#octets
    this.#octets = octets
  }

  require(): void {
    const { open, kept } = this.#account
    if (kept.files + open.files <= this.#limit.files && kept.octets + open.octets <= this.#limit.octets)
      return
    this.#met()
    throw new NodeError(
      'no_space',
      `the partner has all the room that it may have: ${this.#limit.files} files, ${this.#limit.octets} octets`,
    )
  }

  leave(): void {
    if (this.#left) return
    this.#left = true
    this.#account.closed(this.#key, this.#octets)
  }
}

/** The same file, its octets counted. */
export function withinQuota(incoming: Incoming, quota: FileQuota): Incoming {
  quota.cut(incoming.position)
  return {
    get position() {
      return incoming.position
    },
    read: (into, position) => incoming.read(into, position),
    truncate: async (length) => {
      await incoming.truncate(length)
      quota.cut(length)
    },
    write: async (chunk, position) => {
      quota.grow(position + chunk.length)
      await quota.room?.wrote(chunk.length)
      await incoming.write(chunk, position)
    },
    rename: (name) => incoming.rename(name),
    complete: (end) => incoming.complete(end),
    abandon: (reason, keep) => incoming.abandon(reason, keep),
  }
}

function none(): Use {
  return { octets: 0, files: 0 }
}

function limitOf({ contact }: TransferPlan, { limits }: EngineContext): Use {
  const { megabytes, files } = contact.settings.quota ?? {}
  return {
    octets: megabytes === undefined ? limits.contactOctets : megabytes * 1024 * 1024,
    files: files ?? limits.contactFiles,
  }
}
