// What each partner may have lying in this node's data folder: files on their way in (over SFTP under temporary names,
// too), half files that are kept for it to go on with, and files of its in quarantine. Files that are in their place are no
// longer counted.
//
// Whatever is kept is read from the database when a file is offered; what is open here is counted octet by octet. Other
// nodes' open files count as far as they are recorded. A file of which octets are missing counts to its end.

import { dirname } from 'node:path'
import { NodeError } from '../../errors.ts'
import { DiskRoom } from '../../files/disk-room.ts'
import { addHistory } from '../../store/channels.ts'
import { quarantinedOf } from '../../store/quarantine.ts'
import { keptHalfFilesOf } from '../../store/transfers/receptions.ts'
import type { FileKey } from '../../store/transfers/receptions.ts'
import type { EngineContext } from '../engine-context.ts'
import type { TransferPlan } from '../transfer-plan.ts'
import type { Incoming } from '../transports/transport.ts'

type Use = { octets: number; files: number }
type Half = { key: FileKey; position: number }
type Open = { key: FileKey; octets: number }
type Account = { open: Set<Open>; kept: Use; notedAt: number }

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
    const account = this.#accounts.get(contact.id) ?? { open: new Set(), kept: none(), notedAt: 0 }
    this.#accounts.set(contact.id, account)
    // At once: of many that come together each counts for the others.
    const open: Open = { key, octets }
    account.open.add(open)
    const quota = new FileQuota(account, open, limitOf(plan, this.#context), () => this.#met(plan, account))
    try {
      const halves = await keptHalfFilesOf(this.#context.store.db, contact.id)
      account.kept = await this.#kept(contact.id, account, halves)
      quota.require()
      // Its own half is on the disk already.
      const half = halves.find((one) => textOf(one.key) === textOf(key))
      const missing = octets - (half?.position ?? 0)
      // One for all files: thousands of small ones are looked at together.
      this.#room ??= new DiskRoom(await this.#folder(), this.#context.limits.diskReserveOctets)
      if (missing < SMALL_OCTETS) await this.#room.wrote(0)
      else await this.#room.require(missing)
      quota.room = this.#room
      return quota
    } catch (thrown) {
      quota.leave()
      throw thrown
    }
  }

  async #folder(): Promise<string> {
    return dirname(await this.#context.staging.incoming('quota'))
  }

  /** Without the files that are open here: those are counted as they grow. */
  async #kept(contactId: string, { open }: Account, halves: readonly Half[]): Promise<Use> {
    const here = new Set([...open].map(({ key }) => textOf(key)))
    const use = await quarantinedOf(this.#context.store.db, contactId)
    for (const { key, position } of halves) {
      if (here.has(textOf(key))) continue
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
  readonly #open: Open
  readonly #limit: Use
  readonly #met: () => void

  constructor(account: Account, open: Open, limit: Use, met: () => void) {
    this.#account = account
    this.#open = open
    this.#limit = limit
    this.#met = met
  }

  /** Octets up to `end` are about to be there. */
  grow(end: number): void {
    if (end <= this.#open.octets) return
    this.#open.octets = end
    this.require()
  }

  cut(length: number): void {
    this.#open.octets = Math.min(this.#open.octets, length)
  }

  require(): void {
    const { open, kept } = this.#account
    const files = kept.files + open.size
    const octets = [...open].reduce((sum, one) => sum + one.octets, kept.octets)
    if (files <= this.#limit.files && octets <= this.#limit.octets) return
    this.#met()
    throw new NodeError(
      'no_space',
      `the partner has all the room that it may have: ${this.#limit.files} files, ${this.#limit.octets} octets`,
    )
  }

  leave(): void {
    this.#account.open.delete(this.#open)
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

function textOf({ channelCode, name, date, time }: FileKey): string {
  return JSON.stringify([channelCode, name, date, time])
}
