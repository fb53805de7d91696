// End-to-end receipts (RFC 5024, 5.3.13 and 5.3.14). Makes EERP and NERP from what the engine owes, and reads them into
// what it records. A signature covers the fields with their padding and the hash. It counts only if it is valid. Only a
// signed receipt has a hash.
import type { FileKey } from '../file-key.ts'
import type { Digest, OwedReceipt, Receipt } from '../transport.ts'
import type { CommandOf } from './protocol/commands.ts'
import { nerpText } from './protocol/reasons.ts'
import type { Party, SessionCrypto } from './settings.ts'

type Eerp = CommandOf<'EERP'>
type Nerp = CommandOf<'NERP'>

/** What a receipt's signature covers. The reason of a NERP is not part of it. */
function signedContent(receipt: Eerp | Nerp): Uint8Array {
  const names = [
    receipt.destination,
    receipt.originator,
    ...(receipt.kind === 'NERP' ? [receipt.creator] : []),
  ]
  const text =
    receipt.dataset.padEnd(26) + receipt.date + receipt.time + names.map((name) => name.padEnd(25)).join('')
  return Buffer.concat([Buffer.from(text, 'latin1'), receipt.hash])
}

/** NERPREAS for a file that was accepted and could not be processed. */
const NOT_PROCESSED = '34'
const DIGEST_BY_OCTETS: Partial<Record<number, Digest>> = { 20: 'sha1', 32: 'sha256', 64: 'sha512' }

/** The command for a receipt that this node owes. */
export async function receiptCommand(
  owed: OwedReceipt,
  party: Party,
  crypto: SessionCrypto,
): Promise<Eerp | Nerp> {
  const common = {
    dataset: owed.key.name,
    date: owed.key.date,
    time: owed.key.time,
    destination: owed.originator,
    originator: owed.destination,
    hash: new Uint8Array(0),
    signature: new Uint8Array(0),
  }
  const reason = owed.reasonCode === '' ? NOT_PROCESSED : owed.reasonCode
  const command: Eerp | Nerp = owed.positive
    ? { kind: 'EERP', ...common, user: '' }
    : { kind: 'NERP', ...common, creator: owed.destination, reason, text: owed.reason }
  const rsaLocalKey = owed.signingKey ?? party.security.rsaLocalKey
  // Without a key the receipt goes unsigned. The standard allows that, and it is better than none.
  if (!owed.signed || owed.hash === undefined || rsaLocalKey === undefined) return command
  const hash = Uint8Array.from(Buffer.from(owed.hash, 'hex'))
  // Signed with the digest that the file was hashed with. The length of the hash tells which one.
  const digest = DIGEST_BY_OCTETS[hash.length] ?? 'sha256'
  const proven = { ...command, hash }
  return { ...proven, signature: await crypto.signReceipt(rsaLocalKey, signedContent(proven), digest) }
}

/** What a receipt on the line says. */
export async function readReceipt(
  command: Eerp | Nerp,
  party: Party,
  crypto: SessionCrypto,
): Promise<Receipt> {
  const key: FileKey = { name: command.dataset, date: command.date, time: command.time }
  const proof = await checkSignature(command, party, crypto)
  const negative = command.kind === 'NERP' ? command : undefined
  const said = negative === undefined ? '' : nerpText(negative.reason, negative.text)
  return {
    key,
    positive: negative === undefined,
    reason: [said, proof === 'broken' ? 'the receipt’s signature is not valid' : '']
      .filter(Boolean)
      .join('; '),
    reasonCode: negative?.reason ?? '',
    hash: command.hash.length === 0 ? undefined : Buffer.from(command.hash).toString('hex'),
    signed: proof === 'valid',
    ...(command.signature.length > 0 && {
      signatureFault: (partnerPem: string) => signatureFault(command, partnerPem, crypto),
    }),
    originator: command.destination,
    destination: command.originator,
  }
}

async function checkSignature(
  command: Eerp | Nerp,
  party: Party,
  crypto: SessionCrypto,
): Promise<'none' | 'valid' | 'broken'> {
  if (command.signature.length === 0) return 'none'
  const { rsaRemoteKey } = party.security
  if (rsaRemoteKey === undefined) return 'broken'
  return (await signatureFault(command, rsaRemoteKey, crypto)) === undefined ? 'valid' : 'broken'
}

async function signatureFault(
  command: Eerp | Nerp,
  partnerPem: string,
  crypto: SessionCrypto,
): Promise<string | undefined> {
  try {
    return await crypto.signatureFault(partnerPem, command.signature, signedContent(command))
  } catch {
    return 'what stands there is no signature'
  }
}
