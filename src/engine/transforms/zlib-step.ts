// Drives one of Node's zlib streams as a step. Feeding runs beside reading (the work is done in another thread), one
// chunk at a time, which is what tells exactly where in the input a compressed stream ended. A fault of the source
// leaves as it is; only a fault of zlib becomes bad_envelope. However it ends, the stream is destroyed and the source
// closed.

import type { Zlib } from 'node:zlib'
import type { Duplex } from 'node:stream'
import { messageOf, NodeError } from '../../errors.ts'

export type ZlibStream = Duplex & Zlib

/** Few large pieces instead of zlib's default of 16 KiB. */
export const ZLIB_CHUNK_OCTETS = 128 * 1024

type Drive = {
  stream: ZlibStream
  /** Gets what lies in the input behind the end of the compressed stream; may be called often. */
  onRest?: (rest: Uint8Array) => void
}

export async function* driveZlib(
  source: AsyncIterable<Uint8Array>,
  { stream, onRest }: Drive,
): AsyncGenerator<Buffer> {
  let fault: { thrown: unknown } | undefined
  const feeding = feed(source, stream, onRest).catch((thrown: unknown) => {
    fault = { thrown }
    stream.destroy(thrown instanceof Error ? thrown : new Error(String(thrown)))
  })
  try {
    for await (const chunk of stream) yield chunk as Buffer // the stream is never given an encoding
    await feeding
    // A source can fail after the compressed stream has ended well.
    if (fault !== undefined) throw fault.thrown
  } catch (thrown) {
    if (fault !== undefined) throw fault.thrown
    if (thrown instanceof NodeError) throw thrown
    throw new NodeError('bad_envelope', `the compressed content does not open: ${messageOf(thrown)}`, {
      cause: thrown,
    })
  } finally {
    stream.destroy()
    await feeding
  }
}

async function feed(
  source: AsyncIterable<Uint8Array>,
  stream: ZlibStream,
  onRest: Drive['onRest'],
): Promise<void> {
  let wake: (() => void) | undefined
  let fed = 0
  let ended = false
  // A stream that fails drops the callback of the write under way; its close is all that is left to wait for.
  stream.once('close', () => wake?.())
  stream.on('error', () => wake?.())
  for await (const chunk of source) {
    if (ended) {
      onRest?.(chunk)
      continue
    }
    if (chunk.length === 0) continue
    await new Promise<void>((resolve) => {
      wake = resolve
      if (stream.destroyed) resolve()
      else stream.write(chunk, () => resolve())
    })
    if (stream.destroyed) return
    fed += chunk.length
    if (stream.bytesWritten === fed) continue
    ended = true
    onRest?.(chunk.subarray(chunk.length - (fed - stream.bytesWritten)))
  }
  if (!ended) stream.end()
}
