// Where the folders of a partner on the same file system may lie. The operator chooses them freely (esclusa apply), also
// outside of the file roots. But files are put into them and taken out of them, so they never touch what belongs to the
// node itself: its keys and database would be sent to it, or a partner's file be run as a script.

import { join, resolve } from 'node:path'
import { isInside } from '../domain/channel-rules.ts'
import type { Roots } from '../domain/channel-rules.ts'
import { NodeError } from '../errors.ts'
import { realPlace } from './roots.ts'

export type NodePlaces = Pick<Roots, 'dataDir' | 'scriptRoots'>

/** What is wrong with the folder, going on from its name. Links are followed, so it is asked again at each use. */
export function partnerFolderFault(path: string, { dataDir, scriptRoots }: NodePlaces): string | undefined {
  const real = realPlace(path)
  if (dataDir !== undefined) {
    const data = realPlace(resolve(dataDir))
    const isFiles = isInside(real, join(data, 'files'))
    if (!isFiles && meet(real, data))
      return 'may not be, contain or lie inside the node’s data folder, but for the "files" in it'
  }
  return scriptRoots.some((root) => meet(real, realPlace(root)))
    ? 'may not be, contain or lie inside a folder of ESCLUSA_SCRIPT_ROOTS'
    : undefined
}

export function requirePartnerFolder(path: string, places: NodePlaces): void {
  const fault = partnerFolderFault(path, places)
  if (fault !== undefined) throw new NodeError('no_rights', `the partner’s folder ${path} ${fault}`)
}

function meet(one: string, other: string): boolean {
  return isInside(one, other) || isInside(other, one)
}
