// Reads a backup from its first octet to its last and checks all of it: sealing, compression, and each entry against
// what the last one says. Whoever takes entries gets them before the whole is known to be right, and must not act on
// them until it is.

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { fromFileError, messageOf, NodeError, systemCode } from '../errors.ts'
import { CONTENTS, Contents, MANIFEST, Manifest, readJson } from './manifest.ts'
import { openStream, SEALED_MAGIC } from './sealing.ts'
import { readTar } from './tar.ts'
import type { ReadEntry } from './tar.ts'

export type TakeEntry = (entry: ReadEntry, manifest: Manifest) => Promise<void>
export type ReadBackup = { manifest: Manifest; contents: Contents }

/** More than any manifest or list of contents needs. */
const MOST_TEXT = 512 * 1024 * 1024

export async function isSealed(path: string): Promise<boolean> {
  const file = await open(path, 'r').catch((thrown: unknown) => {
    throw new NodeError('bad_use', fromFileError(thrown, path).message, { cause: thrown })
  })
  try {
    if ((await file.stat()).isDirectory())
      throw new NodeError('bad_use', `${path} is a folder, and no backup of Esclusa`)
    const { buffer, bytesRead } = await file.read(
      Buffer.alloc(SEALED_MAGIC.length),
      0,
      SEALED_MAGIC.length,
      0,
    )
    return buffer.toString('latin1', 0, bytesRead) === SEALED_MAGIC
  } finally {
    await file.close()
  }
}

/** `take` may leave a body unread. */
export async function readBackup(
  path: string,
  passphrase: string | undefined,
  take: TakeEntry,
): Promise<ReadBackup> {
  const found: Contents['entries'] = {}
  let manifest: Manifest | undefined
  let contents: Contents | undefined
  // To the very end: only there have sealing and compression said that all of it is right.
  for await (const entry of readTar(unpacked(path, passphrase))) {
    if (contents || (!manifest && entry.name !== MANIFEST)) throw noBackup(path)
    const body = entry.name === CONTENTS ? entry.body : hashed(entry, found)
    if (entry.name === CONTENTS) contents = readJson(Contents, await textOf(entry.size, body))
    else if (manifest) await take({ ...entry, body }, manifest)
    else manifest = readJson(Manifest, await textOf(entry.size, body))
    for await (const _ of body); // what nobody wanted
  }
  if (!manifest || !contents) throw noBackup(path)
  compare(contents.entries, found)
  return { manifest, contents }
}

/** What it says about itself; the rest is not read. */
export async function readManifest(path: string, passphrase: string | undefined): Promise<Manifest> {
  for await (const entry of readTar(unpacked(path, passphrase))) {
    if (entry.name !== MANIFEST) break
    return readJson(Manifest, await textOf(entry.size, entry.body))
  }
  throw noBackup(path)
}

function noBackup(path: string): NodeError {
  return new NodeError('damaged', `${path} is no backup of Esclusa, or it was cut off or damaged`)
}

async function* unpacked(path: string, passphrase: string | undefined): AsyncGenerator<Uint8Array> {
  const file = createReadStream(path)
  const gunzip = createGunzip()
  let began = false
  // Whatever fails on the way comes out at the end, where it is read.
  pipeline(passphrase === undefined ? file : openStream(file, passphrase), gunzip, () => {})
  try {
    for await (const piece of gunzip) {
      began = true
      yield piece as Uint8Array // a stream of octets
    }
  } catch (thrown) {
    if (thrown instanceof NodeError) throw thrown
    if (systemCode(thrown) === 'Z_DATA_ERROR' && !began) throw noBackup(path)
    throw new NodeError('damaged', `${path} cannot be read: ${messageOf(thrown)}`, { cause: thrown })
  } finally {
    gunzip.destroy()
  }
}

async function* hashed(entry: ReadEntry, found: Contents['entries']): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256')
  for await (const piece of entry.body) {
    hash.update(piece)
    yield piece
  }
  found[entry.name] = { size: entry.size, sha256: hash.digest('hex') }
}

async function textOf(size: number, body: AsyncIterable<Uint8Array>): Promise<string> {
  if (size > MOST_TEXT) throw new NodeError('damaged', 'the backup is damaged: a part is too long')
  const pieces: Uint8Array[] = []
  for await (const piece of body) pieces.push(piece)
  return Buffer.concat(pieces).toString('utf8')
}

function compare(said: Contents['entries'], found: Contents['entries']): void {
  const names = new Set([...Object.keys(said), ...Object.keys(found)])
  for (const name of names)
    if (said[name]?.sha256 !== found[name]?.sha256)
      throw new NodeError('damaged', `the backup is damaged: ${name} is not what was written`)
}
