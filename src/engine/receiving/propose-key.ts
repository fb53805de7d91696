// Key-exchange channels receive keys alone. What comes in is kept as the partner's proposed key. It takes effect only
// when somebody accepts it.

import { createPrivateKey, createPublicKey } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { TransferFileRecord } from '../../domain/transfer.ts'
import { NodeError, messageOf } from '../../errors.ts'
import { addHistory } from '../../store/channels.ts'
import { newId } from '../../store/database/ids.ts'
import { insertKeyProposal } from '../../store/keys/proposals.ts'
import { requireHeld, updateFile } from '../../store/transfers/leases.ts'
import { putReceived, removeHalfFile } from '../../store/transfers/receptions.ts'
import type { RunningTransfer } from '../running-transfer.ts'
import { certificateIn } from '../transforms/cms/certs-only.ts'
import { fingerprintOf, readPartnerKey } from '../transforms/cms/keys.ts'
import { receivedPath } from '../staging/staging.ts'
import { namesOneFile } from '../transports/transport.ts'

/** No key is longer. A longer file is refused before it is read into memory. */
const LONGEST = 1024 * 1024

/** The proposal, and that the file was received, are recorded in one write. */
export async function proposeKey(
  running: RunningTransfer,
  file: TransferFileRecord,
  path: string,
): Promise<void> {
  const { context, held, transfer, plan } = running
  if ((file.size ?? 0) > LONGEST) throw new NodeError('file_refused', `${file.name} is too long for a key`)
  const { pem, fingerprint } = proposedKey(await readFile(path))
  const now = context.now()
  const key = { channelCode: plan.code, name: file.keyName, date: file.keyDate, time: file.keyTime }
  await context.store.write(async (tx) => {
    await requireHeld(tx, context.store.dialect, held)
    await insertKeyProposal(tx, {
      id: newId(now),
      contactId: plan.contact.id,
      channelCode: plan.code,
      pem,
      fingerprint,
      receivedAt: now,
    })
    await addHistory(tx, plan.code, [{ at: now, event: 'KEY_RECEIVED', detail: fingerprint }])
    const { size, hash, wireHash, position } = file
    await updateFile(tx, held, file.index, { phase: 'PLACED', size, hash, position })
    if (namesOneFile(key)) await putReceived(tx, key, { transferId: transfer.id, size: position, wireHash })
    await removeHalfFile(tx, key, receivedPath(path))
  })
  file.phase = 'PLACED'
}

/**
 * Reads a received file as a certificate or public key (PEM or DER) or as certificates in a CMS message; throws file_refused
 * if it is none. Nothing else that came with it is kept: partners have sent their private keys along.
 */
export function proposedKey(bytes: Buffer): { pem: string; fingerprint: string } {
  try {
    const found = certificateIn(bytes) ?? publicKeyIn(bytes) ?? bytes.toString('latin1')
    const { certificate, publicKey } = readPartnerKey(found)
    const pem = certificate?.pem ?? publicKey.export({ type: 'spki', format: 'pem' }).toString()
    return { pem, fingerprint: fingerprintOf(pem) }
  } catch (cause) {
    throw new NodeError('file_refused', `the file is no key that can be proposed: ${messageOf(cause)}`, {
      cause,
    })
  }
}

/** In DER, bare or as PKCS#1 writes it. createPublicKey would take a private key too, and give its public half. */
function publicKeyIn(key: Buffer): string | undefined {
  if (isPrivateKey(key)) throw new NodeError('bad_use', 'it is a private key, which its owner alone may have')
  for (const type of ['spki', 'pkcs1'] as const)
    try {
      return createPublicKey({ key, format: 'der', type }).export({ type: 'spki', format: 'pem' }).toString()
    } catch {
      // It is no key of this form.
    }
  return undefined
}

function isPrivateKey(key: Buffer): boolean {
  for (const type of ['pkcs1', 'pkcs8', 'sec1'] as const)
    try {
      createPrivateKey({ key, format: 'der', type })
      return true
    } catch {
      // It is no key of this form.
    }
  return false
}
