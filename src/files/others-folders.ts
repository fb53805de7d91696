// Folders of channels that are closed to a user, and of the partners that such channels bring files to or fetch them
// from on this machine. The user may not send from them or put files into them. A path is refused if it is such a folder,
// lies inside one or contains one. Links are resolved first.

import type { Channel, Directory } from '../contract/channel.ts'
import type { FolderSettings } from '../contract/contact-settings.ts'
import { isInside } from '../domain/channel-rules.ts'
import type { MissingTrust } from '../domain/channel-trust.ts'
import { fixedPart, realPlace } from './roots.ts'

type Named = { pointer: string; path: string }

export type Closed = { channels: readonly Channel[]; partnerFolders: readonly FolderSettings[] }

export function pathsOfOthers(before: Channel, after: Channel, closed: Closed): MissingTrust[] {
  const wanted = changedPaths(before, after)
  if (wanted.length === 0) return []
  const folders = [
    ...closed.channels.flatMap(pathsOf).map(({ path }) => placeOf(path)),
    ...closed.partnerFolders.flatMap(({ inbox, outbox }) => [inbox, outbox]).map(realPlace),
  ]
  return wanted
    .filter(({ path }) => {
      const place = placeOf(path)
      return folders.some((folder) => isInside(place, folder) || isInside(folder, place))
    })
    .map(({ pointer }) => ({
      pointer,
      needs: 'needs a channel to be open to you that is not: its files lie there, inside it or around it',
    }))
}

/** A glob can match anything under its fixed part. */
function placeOf(path: string): string {
  return realPlace(fixedPart(path))
}

/**
 * A directory that does not change was accepted before. If its direction or file groups change, it is checked again:
 * where two channels share a folder, these decide which files belong to which.
 */
function changedPaths(before: Channel, after: Channel): Named[] {
  const known = new Set((before.directories ?? []).map(written))
  const kept = (after.directories ?? []).map((directory) => known.has(written(directory)))
  return pathsOf(after).filter(({ pointer }) => {
    const [, list, name = ''] = pointer.split('/')
    if (list === 'directories') return !kept[Number(name)]
    const target = name as 'postEmisionDirectory'
    return before.integrations?.[target] !== after.integrations?.[target]
  })
}

function written(directory: Directory): string {
  return JSON.stringify(Object.entries(directory).toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

function pathsOf({ directories = [], integrations = {} }: Channel): Named[] {
  return [
    ...directories.map(({ filePath }, index) => ({
      pointer: `/directories/${index}/filePath`,
      path: filePath,
    })),
    { pointer: '/integrations/postEmisionDirectory', path: integrations.postEmisionDirectory },
    { pointer: '/integrations/postReceptionDirectory', path: integrations.postReceptionDirectory },
  ].filter((one): one is Named => one.path !== undefined)
}
