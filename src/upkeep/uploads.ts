// What a node that was killed left in channels' directories: uploads in the outbound ones, and in all of them half copies of
// files that came from another file system.

import { dirname } from 'node:path'
import type { Channel } from '../contract/channel.ts'
import { confined, fixedPart } from '../files/roots.ts'
import { sweepParts } from '../files/place.ts'
import { listChannels } from '../store/channels.ts'
import type { Store } from '../store/database/store.ts'
import type { Task } from './upkeep.ts'

export function uploadsTask(parts: { store: Store; fileRoots: readonly string[]; now: () => number }): Task {
  return {
    name: 'uploads',
    everyMs: 3_600_000,
    run: async (pieces) => {
      const folders = new Set<string>()
      for (const { config } of await listChannels(parts.store.db))
        for (const place of placesOf(config))
          for (const folder of foldersOf(place))
            if (confined(folder, parts.fileRoots) !== undefined) folders.add(folder)
      const left = [...folders]
      await pieces(async () => {
        const folder = left.pop()
        if (folder !== undefined) await sweepParts(folder, parts.now())
        return left.length > 0
      })
    },
  }
}

function placesOf({ directories = [], integrations = {} }: Channel): string[] {
  const { postEmisionDirectory, postReceptionDirectory } = integrations
  const places = [
    ...directories.map(({ filePath }) => filePath),
    postEmisionDirectory,
    postReceptionDirectory,
  ]
  return places.filter((place) => place !== undefined)
}

/** A directory, or where a single file or a glob's files lie. */
function foldersOf(place: string): string[] {
  return fixedPart(place) === place ? [place, dirname(place)] : [dirname(place)]
}
