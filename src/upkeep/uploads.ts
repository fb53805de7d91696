// What uploads left in outbound directories when a node was killed.

import { dirname } from 'node:path'
import { directoriesFor } from '../domain/channel.ts'
import { confined, fixedPart } from '../files/roots.ts'
import { sweepUploads } from '../files/upload.ts'
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
        for (const { directory } of directoriesFor(config, 'EMISION'))
          for (const folder of foldersOf(directory.filePath ?? ''))
            if (confined(folder, parts.fileRoots) !== undefined) folders.add(folder)
      const left = [...folders]
      await pieces(async () => {
        const folder = left.pop()
        if (folder !== undefined) await sweepUploads(folder, parts.now())
        return left.length > 0
      })
    },
  }
}

/** A directory, or where a single file or a glob's files lie. */
function foldersOf(place: string): string[] {
  return fixedPart(place) === place ? [place, dirname(place)] : [dirname(place)]
}
