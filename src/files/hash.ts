// SHA-256 of a local file, in small pieces, so that other requests are served in between.

import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { fromFileError } from '../errors.ts'

const PIECE = 256 * 1024

/** `named`: what errors call the file. */
export async function hashFile(path: string, named = path): Promise<string> {
  const hash = createHash('sha256')
  try {
    await using file = await open(path, 'r')
    const piece = Buffer.allocUnsafe(PIECE)
    for (;;) {
      const { bytesRead } = await file.read(piece, 0, PIECE)
      if (bytesRead === 0) return hash.digest('hex')
      hash.update(piece.subarray(0, bytesRead))
    }
  } catch (thrown) {
    throw fromFileError(thrown, named)
  }
}
