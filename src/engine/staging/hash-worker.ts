// A thread that hashes. It is sent pieces of files, and sends the memory of each back; it knows nothing of files.

import { createHash } from 'node:crypto'
import type { Hash } from 'node:crypto'
import { parentPort } from 'node:worker_threads'
import type { FromHashThread, ToHashThread } from './hash-messages.ts'
import { thisThreadStepsBack } from '../../thread-priority.ts'

thisThreadStepsBack()
const hashes = new Map<number, Hash[]>()
const say = (message: FromHashThread, transfer: ArrayBuffer[] = []) =>
  parentPort?.postMessage(message, transfer)

parentPort?.on('message', (message: ToHashThread) => {
  const { id } = message
  if (message.kind === 'begin')
    hashes.set(
      id,
      message.digests.map((digest) => createHash(digest)),
    )
  if (message.kind === 'piece') {
    const piece = new Uint8Array(message.memory, 0, message.length)
    for (const hash of hashes.get(id) ?? []) hash.update(piece)
    say({ kind: 'piece done', id, memory: message.memory }, [message.memory])
  }
  if (message.kind === 'end')
    say({ kind: 'hashed', id, hex: (hashes.get(id) ?? []).map((hash) => hash.digest('hex')) })
  if (message.kind === 'end' || message.kind === 'forget') hashes.delete(id)
})
