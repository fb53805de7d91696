// Keys of channels: shown with svcFF, made and accepted with signer. Private keys are never shown.

import { makePage } from '../../contract/page.ts'
import type { KeyFacts, KeyInUse, ProposedKey } from '../../contract/administration/keys.ts'
import { acceptKey, refuseKey, takeLocalKey } from '../../keys/decide-key.ts'
import type { Deciding } from '../../keys/decide-key.ts'
import { publicPartOf } from '../../keys/key-facts.ts'
import type { PublicPart } from '../../keys/key-facts.ts'
import { openKey } from '../../keys/known-keys.ts'
import { showTime } from '../../domain/time.ts'
import { isAdministrator, mayReach } from '../../domain/user.ts'
import { NodeError } from '../../errors.ts'
import type { Account } from '../../store/accounts.ts'
import { findChannel } from '../../store/channels.ts'
import { findContact, findLocalEntity } from '../../store/contacts.ts'
import { findKeyProposal, listKeyProposals } from '../../store/keys/proposals.ts'
import type { KeyProposal } from '../../store/keys/proposals.ts'
import { actorOf } from '../actor.ts'
import type { Caller } from '../actor.ts'
import type { Context } from '../context.ts'
import { checkReach, reachChannel } from '../guard.ts'
import { askedPage } from '../integration/paging.ts'
import type { PlatformHandler, PlatformHandlers } from './handler.ts'

const channelKeys: PlatformHandler<'channelKeys'> = async (context, { input, user }) => {
  const channel = await reachChannel(context, user, input.channelCode)
  const { rsaLocalKeyName, rsaRemoteKeyName } = channel.config.security ?? {}
  const shown = (side: KeyInUse['side'], name: string | undefined) => {
    const opened = openKey(context.seal, channel, side)
    if (!opened || 'pem' in opened) return factsOf(context, opened?.pem, name)
    return { ...(name !== undefined && { name }), ...unreadableFacts(opened) }
  }
  const local = shown('LOCAL', rsaLocalKeyName)
  const remote = shown('REMOTE', rsaRemoteKeyName)
  return { channelCode: channel.code, ...(local && { local }), ...(remote && { remote }) }
}

const inspectKey: PlatformHandler<'inspectKey'> = async (context, { body }) => {
  const facts = factsOf(context, body.pem, undefined)
  if (!facts) throw new NodeError('bad_request', '/pem holds no certificate or key that can be read')
  return facts
}

const generateChannelKey: PlatformHandler<'generateChannelKey'> = async (context, call) => {
  const { input, body, user } = call
  const channel = await reachChannel(context, user, input.channelCode)
  const entity = await findLocalEntity(context.store.db, channel.localCode)
  const {
    commonName = (entity?.name ?? channel.localCode).slice(0, 64),
    bits,
    days,
    keyName,
    replace = false,
  } = body
  const made = await context.generateKey({ commonName, bits, days })
  const pem = made.privateKeyPem + made.certificatePem
  const facts = factsOf(context, pem, keyName)
  if (!facts) throw new Error('a key that was just made cannot be read')
  const key = { pem, fingerprint: facts.fingerprint, keyName, replace }
  await context.store.write((tx) => takeLocalKey(tx, deciding(context, call), channel.code, key))
  context.wake({ kind: 'configuration', channelCode: channel.code })
  return facts
}

const listProposedKeys: PlatformHandler<'listProposedKeys'> = async (context, { input, user }) => {
  const asked = askedPage(context, input)
  const view = await context.channelAccess(context.store.db, user)
  const found = (await listKeyProposals(context.store.db, input.contactId || undefined)).filter(
    (one) =>
      (view.reaches(one.channelCode) || isAdministrator(user)) &&
      (input.state === undefined || stateOf(one) === input.state),
  )
  const some = found.slice(asked.offset, asked.offset + asked.size)
  return makePage(await Promise.all(some.map((one) => toWire(context, user, one))), found.length, asked)
}

const acceptProposedKey: PlatformHandler<'acceptProposedKey'> = async (context, call) => {
  const proposal = await reachProposal(context, call.user, call.input.keyId)
  const { fingerprint } = call.body
  const channels = await context.store.write((tx) =>
    acceptKey(tx, deciding(context, call), { proposal, fingerprint }),
  )
  for (const channelCode of channels) context.wake({ kind: 'configuration', channelCode })
  return { id: proposal.id, fingerprint: proposal.fingerprint, channels }
}

const refuseProposedKey: PlatformHandler<'refuseProposedKey'> = async (context, call) => {
  const proposal = await reachProposal(context, call.user, call.input.keyId)
  await context.store.write((tx) => refuseKey(tx, deciding(context, call), proposal))
  return toWire(context, call.user, await reachProposal(context, call.user, proposal.id))
}

export const keyHandlers = {
  channelKeys,
  inspectKey,
  generateChannelKey,
  listProposedKeys,
  acceptProposedKey,
  refuseProposedKey,
} satisfies Partial<PlatformHandlers>

/** A key goes to all channels of a partner, so whoever accepts it must be allowed to reach them all. */
function deciding(context: Context, call: Caller & { user: Account }): Deciding {
  return {
    dialect: context.store.dialect,
    seal: context.seal,
    audit: context.audit,
    actor: actorOf(call),
    now: context.now(),
    leastRsaBits: context.roots.leastRsaBits,
    mayReach: ({ config }) => {
      if (mayReach(call.user, config.users)) return
      throw new NodeError('forbidden', `a channel that this concerns is not open to ${call.user.username}`)
    },
  }
}

async function reachProposal(context: Context, user: Account, id: string): Promise<KeyProposal> {
  const proposal = await findKeyProposal(context.store.db, id)
  const missing = () => new NodeError('not_found', `there is no proposed key ${id}`)
  if (!proposal) throw missing()
  const channel = await findChannel(context.store.db, proposal.channelCode)
  // Of a channel that is gone nobody but administrators knows.
  if (channel) checkReach(user, channel)
  else if (!isAdministrator(user)) throw missing()
  return proposal
}

function stateOf({ acceptedAt, refusedAt }: KeyProposal): ProposedKey['state'] {
  if (acceptedAt !== null) return 'ACCEPTED'
  return refusedAt === null ? 'WAITING' : 'REFUSED'
}

async function toWire(context: Context, user: Account, proposal: KeyProposal): Promise<ProposedKey> {
  const { id, contactId, channelCode, pem, fingerprint, receivedAt, acceptedAt, refusedAt, decidedBy } =
    proposal
  const contact = user.auths.contactChannels ? await findContact(context.store.db, contactId) : undefined
  const decidedAt = acceptedAt ?? refusedAt
  return {
    id,
    contactId,
    ...(contact?.data.name !== undefined && { contactName: contact.data.name }),
    channelCode,
    state: stateOf(proposal),
    receivedAt: showTime(receivedAt, context.zone),
    ...(decidedAt !== null && { decidedAt: showTime(decidedAt, context.zone) }),
    ...(decidedBy !== null && { decidedBy }),
    ...(factsOf(context, pem, undefined) ?? { pem, algorithm: 'unknown' }),
    fingerprint,
  }
}

function factsOf(context: Context, pem: string | undefined, name: string | undefined): KeyFacts | undefined {
  const found = pem === undefined ? undefined : publicPartOf(pem)
  return found && keyFacts(context, found, name)
}

/** Of a key that does not open. */
export function unreadableFacts({ unreadable }: { unreadable: string }, fingerprint = '') {
  return { fingerprint, pem: '', algorithm: '', unreadable }
}

export function keyFacts({ zone }: Context, part: PublicPart, name: string | undefined): KeyFacts {
  const { validFrom, validTo, ...same } = part
  return {
    ...(name !== undefined && { name }),
    ...same,
    ...(validFrom !== undefined && { validFrom: showTime(validFrom, zone) }),
    ...(validTo !== undefined && { validTo: showTime(validTo, zone) }),
  }
}
