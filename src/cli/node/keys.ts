// `esclusa keys …`: makes keys, and accepts keys that partners have sent over key-exchange channels.

import { writeFileSync } from 'node:fs'
import { valueFaults } from '../../domain/channel-faults.ts'
import { messageOf, NodeError, systemCode } from '../../errors.ts'
import { addHistoryToAll, updateChannels } from '../../store/channel-batches.ts'
import { channelsOfContact, lockChannel, openChannel, sealChannel } from '../../store/channels.ts'
import { acceptKeyProposal, findKeyProposal, listKeyProposals } from '../../store/keys.ts'
import type { KeyProposal } from '../../store/keys.ts'
import type { Tx } from '../../store/database/store.ts'
import { remark, say, sayJson, sayTable, when } from '../print.ts'
import { withPlatform } from './with-platform.ts'
import type { OpenPlatform } from './with-platform.ts'
import { unparkTransfers } from '../../store/transfers/leases.ts'

export type Generating = { name: string; bits: number; days: number; key?: string; cert?: string }

export async function generateKey({ name, bits, days, key, cert }: Generating): Promise<void> {
  const { generateSelfSigned } = await import('../../engine/transforms/cms/self-signed.ts')
  const { privateKeyPem, certificatePem } = await generateSelfSigned({ commonName: name, bits, days })
  put(privateKeyPem, key, 0o600)
  put(certificatePem, cert, 0o644)
}

/** Never replaces a file: it may be a key in use. */
function put(pem: string, file: string | undefined, mode: number): void {
  if (file === undefined) return void process.stdout.write(pem)
  try {
    writeFileSync(file, pem, { flag: 'wx', mode })
  } catch (thrown) {
    const why = systemCode(thrown) === 'EEXIST' ? 'exists already' : messageOf(thrown)
    throw new NodeError('bad_use', `${file} was not written: ${why}`, { cause: thrown })
  }
  remark(`wrote ${file}`)
}

export async function listKeys(options: { contact?: string; json?: boolean }): Promise<void> {
  const proposals = await withPlatform(({ store }) => listKeyProposals(store.db, options.contact))
  if (options.json) return sayJson(proposals)
  const rows = proposals.map((proposal) => ({
    ID: proposal.id,
    CONTACT: proposal.contactId,
    CHANNEL: proposal.channelCode,
    'SHA-256': proposal.fingerprint,
    RECEIVED: time(proposal.receivedAt),
    ACCEPTED: time(proposal.acceptedAt) ?? 'no',
  }))
  sayTable(rows, 'no partner has sent a key')
}

function time(at: number | null): string | undefined {
  return at === null ? undefined : when(new Date(at).toISOString())
}

export async function acceptKey(id: string): Promise<void> {
  await withPlatform(async (platform) => {
    const proposal = await findKeyProposal(platform.store.db, id)
    if (!proposal) throw new NodeError('not_found', `there is no key ${id}: see esclusa keys list`)
    const codes = await platform.store.write((tx) => useKey(tx, platform, proposal, Date.now()))
    await platform.store.notify('esclusa', JSON.stringify({ kind: 'configuration' }))
    for (const code of codes) say(`~ channel ${code} (security.rsaRemoteKey)`)
    say(
      `key ${proposal.fingerprint} of ${proposal.contactId} is in use on ${codes.length} channel${codes.length === 1 ? '' : 's'}`,
    )
  })
}

async function useKey(
  tx: Tx,
  { store, seal, audit, actor }: OpenPlatform,
  proposal: KeyProposal,
  now: number,
): Promise<string[]> {
  const [weak] = valueFaults({ security: { rsaRemoteKey: proposal.pem } }, { fileRoots: [], scriptRoots: [] })
  if (weak) throw new NodeError('conflict', `key ${proposal.id} ${weak.message}; ask the partner for another`)
  if (!(await acceptKeyProposal(tx, proposal.id, now)))
    throw new NodeError('conflict', `key ${proposal.id} was accepted already`)
  const codes = (await channelsOfContact(tx, proposal.contactId)).map(({ code }) => code).sort()
  const changed = []
  for (const code of codes) {
    const before = await lockChannel(tx, store.dialect, code)
    const channel = openChannel(seal, before)
    const security = { ...channel.security, rsaRemoteKey: proposal.pem }
    changed.push({ ...before, ...sealChannel(seal, code, { ...channel, security }, before) })
  }
  const { fingerprint } = proposal
  const [auditId] = await audit.add(tx, actor, [
    {
      action: 'KEY_ACCEPTED',
      subject: { kind: 'contact', name: proposal.contactId },
      facts: { fingerprint, channels: codes },
    },
  ])
  await updateChannels(tx, changed)
  await addHistoryToAll(tx, codes, {
    at: now,
    event: 'CHANNEL_UPDATED',
    detail: `key ${fingerprint} accepted`,
    auditId,
  })
  await unparkTransfers(tx, codes, now)
  return codes
}
