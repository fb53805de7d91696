// A partner's folder that is not there, or is none.

import { NodeError, fromFileError, systemCode } from '../../../errors.ts'

/** What the partner's folder itself throws. */
export function folderFault(thrown: unknown, path: string): NodeError {
  const code = systemCode(thrown)
  if (code === 'ENOENT')
    return new NodeError('connect_failed', `the partner’s folder ${path} does not exist`, { cause: thrown })
  return code === 'ENOTDIR' ? noFolder(path, thrown) : fromFileError(thrown, path)
}

export function noFolder(path: string, cause?: unknown): NodeError {
  return new NodeError('connect_failed', `the partner’s folder ${path} is not a folder`, { cause })
}
