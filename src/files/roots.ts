// Where the node may use the file system. A path whose text is inside its root may still lead out by a link. So these
// checks resolve what exists. They run at every use, because links can change.

import { lstatSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { SCRIPT_FIELDS } from '../contract/channel.ts'
import type { Channel } from '../contract/channel.ts'
import type { TransferDirection } from '../contract/transfer.ts'
import { fileRoots, isInside, pathFaults } from '../domain/channel-rules.ts'
import type { Fault, Roots } from '../domain/channel-rules.ts'
import { hasGlob } from '../domain/names/glob.ts'
import { NodeError, systemCode } from '../errors.ts'

/** The part of a path before its first glob character: what must lie inside a root. */
export function fixedPart(path: string): string {
  const steps = path.split('/')
  const glob = steps.findIndex(hasGlob)
  return glob < 0 ? path : steps.slice(0, glob).join('/') || '/'
}

/** The real place of a path, with links followed as far as it exists. Undefined if it is outside of every root. */
export function confined(path: string, roots: readonly string[]): string | undefined {
  const real = realPlace(path)
  return roots.some((root) => isInside(real, realPlace(root))) ? real : undefined
}

/**
 * The real place of a path, with links followed as far as it exists. The rest is without empty steps and `.`, so that
 * places can be compared as text. A `..` stays until the links before it have been followed.
 */
export function realPlace(path: string): string {
  const plain = path.replaceAll(/\/(\.?\/)+/g, '/').replace(/(.)\/\.?$/, '$1')
  let existing = plain
  let rest = ''
  for (;;) {
    try {
      return realpathSync.native(existing) + rest
    } catch (thrown) {
      if (systemCode(thrown) !== 'ENOENT' && systemCode(thrown) !== 'ENOTDIR') return plain
      // A dangling link is not a missing name: a file made there would be where the link points.
      if (isLink(existing)) return '/dev/null/dangling link'
      const parent = dirname(existing)
      if (parent === existing) return plain
      rest = existing.slice(parent === '/' ? 0 : parent.length) + rest
      existing = parent
    }
  }
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink()
  } catch {
    return false
  }
}

export function requireConfined(path: string, roots: readonly string[]): string {
  const real = confined(path, roots)
  if (real === undefined) throw new NodeError('no_rights', `${path} leads out of the node’s roots by a link`)
  return real
}

/** A path of a channel, and the roots that it must lie in. */
export type ChannelPlace = { pointer: string; path: string; allowed: readonly string[] }

/** The paths that a channel names: of a pattern its fixed part. Without script roots scripts are off, and not looked at. */
export function placesOf(
  { integrations = {}, directories = [] }: Channel,
  { fileRoots: folders, scriptRoots }: Roots,
): ChannelPlace[] {
  const place = (pointer: string, path: string | undefined, allowed: readonly string[]) =>
    path === undefined ? [] : [{ pointer, path, allowed }]
  return [
    ...directories.flatMap(({ filePath }, index) =>
      place(`/directories/${index}/filePath`, filePath && fixedPart(filePath), folders),
    ),
    ...place('/integrations/postEmisionDirectory', integrations.postEmisionDirectory, folders),
    ...place('/integrations/postReceptionDirectory', integrations.postReceptionDirectory, folders),
    ...(scriptRoots.length === 0 ? [] : SCRIPT_FIELDS).flatMap((name) =>
      place(`/integrations/${name}`, integrations[name], scriptRoots),
    ),
  ]
}

/** Faults that show only on the disk: links that lead out of the roots. */
export function diskFaults(channel: Channel, roots: Roots): Fault[] {
  return placesOf(channel, roots)
    .filter(({ path, allowed }) => confined(path, allowed) === undefined)
    .map(({ pointer }) => ({ pointer, message: 'leads out of the allowed folders by a link' }))
}

/** verifyExists: a directory, or for outbound a regular file too. */
export function checkPathExists(path: string, way: TransferDirection, roots: Roots, field: string): void {
  const [fault] = pathFaults(path, field, fileRoots(roots))
  if (fault) throw new NodeError('bad_request', `${fault.pointer} ${fault.message}`)
  const kind = kindOf(path)
  if (kind === 'directory' || (kind === 'file' && way === 'EMISION')) return
  const wanted = way === 'EMISION' ? 'an existing directory or regular file' : 'an existing directory'
  throw new NodeError('bad_request', `${field} must be ${wanted} on the node`)
}

function kindOf(path: string): 'directory' | 'file' | 'other' | undefined {
  try {
    const stat = statSync(path)
    return stat.isDirectory() ? 'directory' : stat.isFile() ? 'file' : 'other'
  } catch {
    return undefined
  }
}
