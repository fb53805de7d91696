// A local file that is read must be the one that was looked at, and the same at the end of the reading as at its beginning.

import { closeSync, constants, fstatSync, lstatSync, openSync, readSync } from 'node:fs'
import type { Stats } from 'node:fs'
import { NodeError, fromFileError, systemCode } from '../errors.ts'

/** What the file was when it was looked at. */
export type Expected = { size: number; modifiedAt: number }

/** No links: one put there after the file was picked up could lead anywhere. And a pipe must not block. */
export const TO_READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** `now` is what the open file is like; the size is the one that it was opened with. */
export function requireAsOpened(
  path: string,
  now: Stats,
  size: number,
  expected: Expected | undefined,
): void {
  if (!now.isFile()) throw new NodeError('file_refused', `${path} is not a regular file`)
  if (now.size !== size) throw changed(path)
  if (expected && (now.size !== expected.size || Math.floor(now.mtimeMs) !== expected.modifiedAt))
    throw changed(path)
}

/** What lies under the name must be the file that is open. */
export function requireSameFile(path: string, open: Stats, named: Stats): void {
  if (named.ino !== open.ino || named.dev !== open.dev) throw changed(path)
}

export function changed(path: string): NodeError {
  return new NodeError('file_changed', `${path} changed while it was sent`)
}

/** What opening a file threw. */
export function notOpened(path: string, thrown: unknown): NodeError {
  return systemCode(thrown) === 'ELOOP'
    ? new NodeError('file_changed', `${path} was replaced by a link`, { cause: thrown })
    : fromFileError(thrown, path)
}

/** All of a small file, in the thread that asks. `into`: where its octets go. */
export function readUnchanged(
  path: string,
  expected: Expected,
  into: Uint8Array = Buffer.allocUnsafeSlow(expected.size),
): Uint8Array {
  const file = opened(path)
  try {
    requireAsOpened(path, fstatSync(file), expected.size, expected)
    for (let done = 0; done < into.length;) {
      const length = readSync(file, into, done, into.length - done, done)
      if (length === 0) throw changed(path)
      done += length
    }
    const now = fstatSync(file)
    requireAsOpened(path, now, expected.size, expected)
    requireSameFile(path, now, lstatSync(path))
    return into
  } catch (thrown) {
    throw fromFileError(thrown, path)
  } finally {
    closeSync(file)
  }
}

function opened(path: string): number {
  try {
    return openSync(path, TO_READ)
  } catch (thrown) {
    throw notOpened(path, thrown)
  }
}
