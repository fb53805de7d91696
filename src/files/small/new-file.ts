// A small file that this node makes, written in the thread that asks; to sync it is the caller's.

import { closeSync, constants, openSync, unlinkSync, writeSync } from 'node:fs'
import { systemCode } from '../../errors.ts'

const NEW = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

/** Gives it open. A new file in any case, so that one which somebody else has open under this name is not touched. */
export function writeNew(path: string, bytes: Uint8Array): number {
  const file = openNew(path)
  try {
    writeAll(file, bytes)
    return file
  } catch (thrown) {
    closeSync(file)
    throw thrown
  }
}

/** A disk that fills meanwhile takes a part and reports nothing; it is the next write that throws. */
export function writeAll(file: number, bytes: Uint8Array, from = 0): void {
  for (let done = 0; done < bytes.length;)
    done += writeSync(file, bytes, done, bytes.length - done, from + done)
}

function openNew(path: string): number {
  try {
    return openSync(path, NEW, 0o640)
  } catch (thrown) {
    if (systemCode(thrown) !== 'EEXIST') throw thrown
    unlinkSync(path)
    return openSync(path, NEW, 0o640)
  }
}

/** The name is gone, or was. */
export function removeName(path: string): void {
  try {
    unlinkSync(path)
  } catch {
    // Costs a name, nothing else.
  }
}
