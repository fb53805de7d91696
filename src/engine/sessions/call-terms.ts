// With whom a call ends up, and what proves the other end. Two channels that spell the same thing in two ways make the same
// call: addresses are compared as they are called, keys by what they are, passwords as the protocol compares them.

import { createHash, createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { canonicalAddress } from '../../domain/network/addresses.ts'
import type { TransferPlan } from '../transfer-plan.ts'
import type { Protocol, SessionSecurity } from '../transports/transport.ts'

export type Address = { host: string; port: number }

type Addressed = Pick<TransferPlan, 'contact' | 'channel'> & { security: Pick<SessionSecurity, 'encrypted'> }

/** With `rotations` every address, each attempt beginning with the next one. Without it only the first. */
export function addressesOf(
  plan: Addressed,
  protocol: Pick<Protocol, 'capabilities'>,
  attempt: number,
): Address[] {
  const addresses = allAddressesOf(plan, protocol)
  if (!plan.channel.connection?.advancedConfigurationConnection?.rotations) return addresses.slice(0, 1)
  const start = addresses.length === 0 ? 0 : attempt % addresses.length
  return [...addresses.slice(start), ...addresses.slice(0, start)]
}

function allAddressesOf(
  { contact, channel, security }: Addressed,
  { capabilities }: Pick<Protocol, 'capabilities'>,
): Address[] {
  const { defaultPort: plain, defaultTlsPort } = capabilities
  if (plain === undefined) return [{ host: '', port: 0 }]
  const defaultPort = security.encrypted ? (defaultTlsPort ?? plain) : plain
  const known = contact.data.remoteIPs ?? []
  // The same address may be spelled otherwise there.
  const portOf = (host: string) =>
    known.find(({ ipAddress }) => ipAddress && canonicalAddress(ipAddress) === canonicalAddress(host))?.port
  const ips = channel.connection?.ips ?? known.flatMap(({ ipAddress }) => (ipAddress ? [ipAddress] : []))
  return ips.map((host) => ({ host, port: portOf(host) ?? defaultPort }))
}

/** Whether both have the same addresses to call, in any order, whether or not they rotate them. */
export function sameAddresses(
  one: Addressed,
  other: Addressed,
  protocol: Pick<Protocol, 'capabilities'>,
): boolean {
  const called = (plan: Addressed) =>
    allAddressesOf(plan, protocol).map(({ host, port }) => `${canonicalAddress(host)} ${port}`)
  return isDeepStrictEqual(new Set(called(one)), new Set(called(other)))
}

/** Whether both ends prove themselves in the same way, with the same secrets, on a line that is encrypted or not. */
export function sameProof(
  one: SessionSecurity,
  other: SessionSecurity,
  { samePassword = (given, expected) => given === expected }: Pick<Protocol, 'samePassword'>,
  encrypted: boolean,
): boolean {
  const byCertificate = one.authentication === 'CERTIFICATE'
  if (byCertificate !== (other.authentication === 'CERTIFICATE')) return false
  const [ours, theirs] = [passwordsOf(one), passwordsOf(other)]
  return (
    same(ours.localKey, theirs.localKey, samePassword) &&
    same(ours.remoteKey, theirs.remoteKey, samePassword) &&
    (!byCertificate ||
      (same(one.rsaLocalKey, other.rsaLocalKey, by(ownKey)) &&
        same(one.rsaRemoteKey, other.rsaRemoteKey, by(publicKey)))) &&
    // The partner's certificate is what the line's own encryption is checked against.
    (!encrypted || same(one.rsaRemoteKey, other.rsaRemoteKey, by(certificateOrKey)))
  )
}

function passwordsOf({
  authentication,
  localKey,
  remoteKey,
}: SessionSecurity): Pick<SessionSecurity, 'localKey' | 'remoteKey'> {
  return authentication === 'PASSWORD'
    ? { localKey, remoteKey }
    : { localKey: undefined, remoteKey: undefined }
}

/** The same text is the same thing: keys are read only where the texts differ. */
function same(
  one: string | undefined,
  other: string | undefined,
  compare: (one: string, other: string) => boolean,
): boolean {
  return one === other || (one !== undefined && other !== undefined && compare(one, other))
}

/** Compares what is read from two texts; the texts themselves where it cannot be read. */
function by(read: (pem: string) => string): (one: string, other: string) => boolean {
  const readOrText = (pem: string) => {
    try {
      return read(pem)
    } catch {
      return pem.trim()
    }
  }
  return (one, other) => readOrText(one) === readOrText(other)
}

function ownKey(pem: string): string {
  return publicHalf(createPublicKey(createPrivateKey(pem)))
}

function publicKey(pem: string): string {
  return publicHalf(createPublicKey(pem))
}

function publicHalf(key: ReturnType<typeof createPublicKey>): string {
  return createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('hex')
}

function certificateOrKey(pem: string): string {
  return pem.includes('BEGIN CERTIFICATE') ? new X509Certificate(pem).fingerprint256 : publicKey(pem)
}
