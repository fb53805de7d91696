// What people do with the keys of channels: accept or refuse one that a partner has proposed, and take one that was made
// here. Each is one transaction with its entry in the audit trail; of two who decide at once, one succeeds.

import type { Actor, AuditTrail } from '../audit/trail.ts'
import { valueFaults } from '../domain/channel-faults.ts'
import { NodeError } from '../errors.ts'
import { addHistoryToAll, updateChannels } from '../store/channel-batches.ts'
import {
  addHistory,
  channelsOfContact,
  lockChannel,
  openChannel,
  sealChannel,
  updateChannel,
} from '../store/channels.ts'
import type { ChannelRecord } from '../store/channels.ts'
import type { Dialect, Tx } from '../store/database/store.ts'
import { acceptKeyProposal, refuseKeyProposal } from '../store/keys/proposals.ts'
import type { KeyProposal } from '../store/keys/proposals.ts'
import type { Seal } from '../store/seal.ts'
import { unparkTransfers } from '../store/transfers/leases.ts'
import { openingPart, plainFingerprint } from './key-facts.ts'

export type Deciding = {
  dialect: Dialect
  seal: Seal
  audit: AuditTrail
  actor: Actor
  now: number
  /** ESCLUSA_LEAST_RSA_BITS. */
  leastRsaBits?: number | undefined
  /** Throws where the one who decides may not reach a channel. */
  mayReach?: (channel: ChannelRecord) => void
}

export type Acceptance = {
  proposal: KeyProposal
  /** What the partner has told over another line; where it is left out, somebody has compared it otherwise. */
  fingerprint?: string | undefined
}

/** Codes of the channels that use the key from now on: all of the partner's. */
export async function acceptKey(tx: Tx, deciding: Deciding, acceptance: Acceptance): Promise<string[]> {
  const { dialect, seal, audit, actor, now, leastRsaBits, mayReach } = deciding
  const { proposal, fingerprint: told } = acceptance
  const { id, contactId, pem, fingerprint } = proposal
  if (told !== undefined && plainFingerprint(told) !== fingerprint)
    throw new NodeError(
      'conflict',
      `key ${id} has another fingerprint, ${fingerprint}: ask the partner before anything else`,
    )
  const rules = { fileRoots: [], scriptRoots: [], ...(leastRsaBits !== undefined && { leastRsaBits }) }
  const [weak] = valueFaults({ security: { rsaRemoteKey: pem } }, rules)
  if (weak) throw new NodeError('conflict', `key ${id} ${weak.message}; ask the partner for another`)
  if (!(await acceptKeyProposal(tx, id, { by: actor.who, now }))) throw decidedAlready(id)
  const codes = (await channelsOfContact(tx, contactId)).map(({ code }) => code).sort()
  const changed = []
  for (const code of codes) {
    const before = await lockChannel(tx, dialect, code)
    mayReach?.(before)
    const channel = openChannel(seal, before)
    const security = { ...channel.security, rsaRemoteKey: pem }
    changed.push({ ...before, ...sealChannel(seal, code, { ...channel, security }, before) })
  }
  const [auditId] = await audit.add(tx, actor, [
    {
      action: 'KEY_ACCEPTED',
      subject: { kind: 'contact', name: contactId },
      facts: { fingerprint, channels: codes },
    },
  ])
  await updateChannels(tx, changed)
  const detail = `key ${fingerprint} accepted`
  await addHistoryToAll(tx, codes, { at: now, event: 'CHANNEL_UPDATED', detail, auditId })
  await unparkTransfers(tx, codes, now)
  return codes
}

export async function refuseKey(
  tx: Tx,
  { audit, actor, now }: Deciding,
  { id, contactId, fingerprint }: KeyProposal,
): Promise<void> {
  if (!(await refuseKeyProposal(tx, id, { by: actor.who, now }))) throw decidedAlready(id)
  await audit.add(tx, actor, [
    { action: 'KEY_REFUSED', subject: { kind: 'contact', name: contactId }, facts: { fingerprint } },
  ])
}

function decidedAlready(id: string): NodeError {
  return new NodeError('conflict', `key ${id} was accepted or refused already`)
}

export type LocalKey = { pem: string; fingerprint: string; keyName?: string | undefined; replace: boolean }

/**
 * The channel signs with this key from its next transfer on. The one that it replaces stays behind it: partners encrypt
 * for that one's certificate until they have the new one.
 */
export async function takeLocalKey(tx: Tx, deciding: Deciding, code: string, key: LocalKey): Promise<void> {
  const { dialect, seal, audit, actor, now, mayReach } = deciding
  const before = await lockChannel(tx, dialect, code)
  mayReach?.(before)
  const channel = openChannel(seal, before)
  const { rsaLocalKey: replaced } = channel.security ?? {}
  if (replaced !== undefined && !key.replace)
    throw new NodeError(
      'conflict',
      `channel ${code} has a local key: partners that know it would refuse what a new one signs; say replace to have it all the same`,
    )
  const security = {
    ...channel.security,
    rsaLocalKey: key.pem + ((replaced && openingPart(replaced, now)) ?? ''),
    ...(key.keyName !== undefined && { rsaLocalKeyName: key.keyName }),
  }
  await updateChannel(tx, { ...before, ...sealChannel(seal, code, { ...channel, security }, before) })
  const { fingerprint } = key
  const [auditId] = await audit.add(tx, actor, [
    {
      action: 'KEY_GENERATED',
      subject: { kind: 'channel', name: code },
      channelCode: code,
      facts: { fingerprint },
    },
  ])
  await addHistory(tx, code, [
    { at: now, event: 'CHANNEL_UPDATED', detail: `key ${fingerprint} made`, auditId },
  ])
  await unparkTransfers(tx, [code], now)
}
