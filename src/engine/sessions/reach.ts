// Which channels exist for a session: those whose demands the other end of this very session has met. Asked anew at
// every file, receipt and turn, with the channel as it is then, so that a change acts on sessions that are open.
//
// The partner called: the channel takes calls, the address is one of its own where it asks for that, the line is
// encrypted where it asks for that, and the partner has proven itself as the channel wants: the password given is the
// channel's remoteKey, or the channel's certificate was proven.
// This node called: the channel would have opened the same session: the same addresses, names and keys, however they are
// spelled (call-terms.ts), and nothing asked for that the session lacks. Whoever pointed one channel at another machine
// reaches that channel alone.
//
// Hours are not part of a refusal: a file outside them is told to come later, and a receipt is always good.

import type { Channel } from '../../contract/channel.ts'
import { canonicalAddress } from '../../domain/network/addresses.ts'
import { isOpenAt } from '../../domain/time.ts'
import { NodeError } from '../../errors.ts'
import { openChannel } from '../../store/channels.ts'
import type { ChannelRecord } from '../../store/channels.ts'
import { hoursOfChannel } from '../../store/expectations/calendars.ts'
import type { Seal } from '../../store/seal.ts'
import type { EngineContext } from '../engine-context.ts'
import { channelsOfSession, demandsEncryption, securityOf } from '../transfer-plan.ts'
import type { TransferPlan } from '../transfer-plan.ts'
import type {
  CertificatePin,
  LineDemands,
  Proof,
  Protocol,
  Reach,
  SessionSecurity,
} from '../transports/transport.ts'
import { sameAddresses, sameProof } from './call-terms.ts'

/** The channels that exist for a session and are within their hours: those that may send or take something now. */
export async function openChannelsOf(
  { store, zone, now }: Pick<EngineContext, 'store' | 'zone' | 'now'>,
  reach: Reach,
): Promise<ChannelRecord[]> {
  const channels = await channelsOfSession(store.db, reach)
  return channels.filter(
    (channel) => !reach.refusal(channel) && isOpenAt(hoursOfChannel(channel), now(), zone),
  )
}

export function reachOfCaller(seal: Seal, contactId: string, proof: Proof, line: LineDemands = {}): Reach {
  return {
    contactId,
    openedBy: 'partner',
    refusal: (channel: ChannelRecord) =>
      refusalOfCaller(seal, channel, proof) ?? certificateRefusal(seal, channel, proof, line),
  }
}

/**
 * Why the certificate that the caller showed, or did not show, keeps it from the channel. What is pinned is what a call of
 * ours would check: the contact's CA, else the certificate in rsaRemoteKey. A caller that shows none is let in where it
 * proves itself by password or challenge, because many partners have no certificate for that; not where the contact
 * requires one, or where nothing else would tell who it is.
 */
export function certificateRefusal(
  seal: Seal,
  channel: ChannelRecord,
  proof: Proof,
  { ca, servername, clientCertificate }: LineDemands,
): NodeError | undefined {
  const required = clientCertificate === 'required'
  if (proof.shown === undefined || !(required || demandsEncryption(channel.config))) return undefined
  const security = securityOf(openChannel(seal, channel))
  const pin = ca === undefined ? pinOf(security) : { ca, name: servername }
  if (!pin)
    return required ? refused(channel.code, 'there is no certificate here to compare with') : undefined
  const shown = proof.shown(pin)
  if (shown === 'other')
    return refused(channel.code, 'the TLS certificate that was shown is not the partner’s, or not valid now')
  const otherwise =
    security.authentication === 'CERTIFICATE' ||
    (security.authentication === 'PASSWORD' && security.remoteKey !== undefined)
  if (shown === 'fits' || (otherwise && !required)) return undefined
  return refused(channel.code, 'no TLS certificate was shown')
}

function pinOf({ rsaRemoteKey }: SessionSecurity): CertificatePin | undefined {
  return rsaRemoteKey?.includes('BEGIN CERTIFICATE') ? { certificate: rsaRemoteKey } : undefined
}

function refusalOfCaller(seal: Seal, channel: ChannelRecord, proof: Proof): NodeError | undefined {
  const { code, config } = channel
  if (config.deactivateChannel) return refused(code, 'the channel is inactive')
  if (!takesCalls(config)) return refused(code, 'this node calls for it')
  if (!addressAllowed(config, proof.address)) return refused(code, `not from ${proof.address}`)
  if (demandsEncryption(config) && !proof.encrypted) return insecure(code)
  const security = securityOf(openChannel(seal, channel))
  return isProven(security, proof) ? undefined : refused(code, 'this session has not proven what it asks for')
}

function isProven({ authentication, remoteKey, rsaRemoteKey }: SessionSecurity, proof: Proof): boolean {
  if (authentication === 'CERTIFICATE') return proof.owns(rsaRemoteKey)
  // Without a remoteKey there is nothing to compare with; `check` and `apply` warn of it.
  if (authentication === 'PASSWORD' && remoteKey !== undefined) return proof.knows(remoteKey)
  return proof.signedIn
}

export function takesCalls({ connection }: Channel): boolean {
  return connection?.advancedConfigurationConnection?.callingEnd !== 'LOCAL'
}

export function addressAllowed({ connection }: Channel, address: string): boolean {
  const { advancedConfigurationConnection, ips = [], proxyIps = [] } = connection ?? {}
  if (!advancedConfigurationConnection?.validateIp) return true
  const caller = canonicalAddress(address)
  return [...ips, ...proxyIps].some((known) => canonicalAddress(known) === caller)
}

/** A session that this node opened for `plan`. */
export function reachOfCall(seal: Seal, plan: TransferPlan, protocol: Protocol): Reach {
  const localCode = plan.code.split('-')[0]
  const { encrypted } = plan.security
  return {
    contactId: plan.contact.id,
    openedBy: 'node',
    refusal: (channel: ChannelRecord) => {
      const { code, config } = channel
      // The one it was opened for finishes what it has begun, unless it would call somebody else by now.
      const own = code === plan.code
      if (!own && config.deactivateChannel) return refused(code, 'the channel is inactive')
      if (!own && config.connection?.advancedConfigurationConnection?.callingEnd === 'REMOTO')
        return refused(code, 'the partner calls for it')
      if (demandsEncryption(config) && !encrypted) return insecure(code)
      if (code.split('-')[0] !== localCode) return refused(code, 'it would have called under another name')
      const other = openChannel(seal, channel)
      if (!sameAddresses(plan, { ...plan, channel: other }, protocol))
        return refused(code, 'it has other addresses to call')
      return sameProof(plan.security, securityOf(other), protocol, encrypted)
        ? undefined
        : refused(code, 'it would have opened the session with other keys')
    },
  }
}

function refused(code: string, why: string): NodeError {
  return new NodeError('remote_refused', `channel ${code} is not there for this session: ${why}`)
}

function insecure(code: string): NodeError {
  return new NodeError('insecure_session', `channel ${code} takes files over encrypted sessions alone`)
}
