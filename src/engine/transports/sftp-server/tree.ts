// The tree as one session sees it at this moment. Which channel an application stands for is asked at every request:
// two channels of a partner may have the same application and ask for different things, and a change of a channel acts
// on sessions that are open.

import { NodeError } from '../../../errors.ts'
import type { Outbox } from '../outbox.ts'
import type { Attrs } from '../ssh/sftp-packet.ts'
import type { Reached } from '../transport.ts'

import { FOLDER_ATTRS, fileAttrs } from './answers.ts'
import type { DownloadTracking } from './download-tracking.ts'
import { refused } from './handles.ts'
import type { HandleRoom, Listing } from './handles.ts'
import type { Inbox } from './inbox.ts'
import { placeOf } from './paths.ts'
import type { Place } from './paths.ts'
import type { PerNameQueue } from './per-name-queue.ts'

/** What all connections of a partner share. */
export interface PartnerFiles {
  inbox: Inbox
  downloads: DownloadTracking
  queue: PerNameQueue
  room: HandleRoom
}

export interface SessionFiles extends PartnerFiles {
  outbox: Outbox
  /** The code of the channel that the application stands for in this session; undefined where it reaches none. */
  channelOf: (application: string) => Promise<string | undefined>
  /** What exists for the session now. */
  reachedNow: () => Promise<Reached>
}

export type FilePlace = Place & { kind: 'file' }

export const missing = () => new NodeError('not_found', 'there is no such file')
const asFolder = (name: string) => ({ name, attrs: FOLDER_ATTRS })

export class Tree {
  readonly #files: SessionFiles
  /** As it was at the sign-in: later it may hold less, never more. */
  readonly #reached: Reached

  constructor(files: SessionFiles, reached: Reached) {
    this.#files = files
    this.#reached = reached
  }

  place(path: string | undefined): Place {
    const place = placeOf(path, this.#reached.applications)
    if (place === undefined) throw missing()
    return place
  }

  file(path: string | undefined): FilePlace {
    const place = this.place(path)
    if (place.kind !== 'file') throw refused()
    return place
  }

  /** `ways` is seen from this node: 'S' sends only, so nothing may be dropped; 'R' receives only. */
  get mayPut(): boolean {
    return this.#reached.ways !== 'S'
  }

  get mayGet(): boolean {
    return this.#reached.ways !== 'R'
  }

  async channelOf(application: string): Promise<string> {
    const channel = await this.#files.channelOf(application)
    if (channel === undefined) throw missing()
    return channel
  }

  inTurn<T>(
    places: readonly Pick<FilePlace, 'side' | 'application' | 'name'>[],
    work: () => Promise<T>,
  ): Promise<T> {
    return this.#files.queue.take(
      places.map((place) => `${place.side}/${place.application}/${place.name}`),
      work,
    )
  }

  /** In its turn, with the channel that is reached when that comes: asked before, requests could overtake each other. */
  inChannel<T>(
    places: readonly [FilePlace, ...FilePlace[]],
    work: (channel: string) => Promise<T>,
  ): Promise<T> {
    return this.inTurn(places, async () => work(await this.channelOf(places[0].application)))
  }

  async attrsAt(place: Place): Promise<Attrs> {
    if (place.kind === 'root') return FOLDER_ATTRS
    const { inbox, outbox } = this.#files
    if (place.kind !== 'file') {
      await this.channelOf(place.application)
      return FOLDER_ATTRS
    }
    if (place.side === 'in') {
      const look = await this.inChannel([place], (channel) => inbox.look(channel, place.name))
      if (look === undefined) throw missing()
      return fileAttrs(look, true)
    }
    const entry = this.mayGet ? await outbox.find(place.application, place.name) : undefined
    if (entry === undefined) throw missing()
    return fileAttrs({ size: entry.size, mtime: Math.floor(entry.mtimeMs / 1000) }, false)
  }

  async entriesOf(place: Place): Promise<Listing['entries']> {
    const { inbox, outbox } = this.#files
    if (place.kind === 'root') {
      const { applications } = await this.#files.reachedNow()
      return this.#reached.applications.filter((one) => applications.includes(one)).map(asFolder)
    }
    const channel = await this.channelOf(place.application)
    if (place.kind !== 'folder') return ['in', 'out'].map(asFolder)
    if (place.side === 'in')
      return (await inbox.list(channel)).map((look) => ({ name: look.name, attrs: fileAttrs(look, true) }))
    const entries = this.mayGet ? await outbox.list(place.application) : []
    return entries.map(({ name, size, mtimeMs }) => ({
      name,
      attrs: fileAttrs({ size, mtime: Math.floor(mtimeMs / 1000) }, false),
    }))
  }
}
