// `esclusa keys …`: makes keys, and accepts keys that partners have sent over key-exchange channels.

import { writeFileSync } from 'node:fs'
import { acceptKey as accept, refuseKey as refuse } from '../../keys/decide-key.ts'
import type { Deciding } from '../../keys/decide-key.ts'
import { messageOf, NodeError, systemCode } from '../../errors.ts'
import { findContact } from '../../store/contacts.ts'
import { findKeyProposal, listKeyProposals } from '../../store/keys/proposals.ts'
import type { KeyProposal } from '../../store/keys/proposals.ts'
import { remark, say, sayJson, sayTable, when } from '../print.ts'
import { withPlatform } from './with-platform.ts'
import type { OpenPlatform } from './with-platform.ts'

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
  const proposals = await withPlatform(async ({ store }) => {
    if (options.contact !== undefined && !(await findContact(store.db, options.contact)))
      throw new NodeError('not_found', `there is no contact ${options.contact}`)
    return listKeyProposals(store.db, options.contact)
  })
  if (options.json) return sayJson(proposals)
  const rows = proposals.map((proposal) => ({
    ID: proposal.id,
    CONTACT: proposal.contactId,
    CHANNEL: proposal.channelCode,
    'SHA-256': proposal.fingerprint,
    RECEIVED: time(proposal.receivedAt),
    ACCEPTED: time(proposal.acceptedAt) ?? (proposal.refusedAt === null ? 'no' : 'refused'),
  }))
  sayTable(rows, 'no partner has sent a key')
}

function time(at: number | null): string | undefined {
  return at === null ? undefined : when(new Date(at).toISOString())
}

/** The one at the machine has compared the fingerprint by eye, unless it is given. */
export async function acceptKey(id: string, { fingerprint }: { fingerprint?: string }): Promise<void> {
  await withPlatform(async (platform) => {
    const proposal = await requireProposal(platform, id)
    const codes = await platform.store.write((tx) =>
      accept(tx, deciding(platform), { proposal, fingerprint }),
    )
    await platform.store.notify('esclusa', JSON.stringify({ kind: 'configuration' }))
    for (const code of codes) say(`~ channel ${code} (security.rsaRemoteKey)`)
    say(
      `key ${proposal.fingerprint} of ${proposal.contactId} is in use on ${codes.length} channel${codes.length === 1 ? '' : 's'}`,
    )
  })
}

export async function refuseKey(id: string): Promise<void> {
  await withPlatform(async (platform) => {
    const proposal = await requireProposal(platform, id)
    await platform.store.write((tx) => refuse(tx, deciding(platform), proposal))
    say(`key ${proposal.fingerprint} of ${proposal.contactId} is refused`)
  })
}

async function requireProposal({ store }: OpenPlatform, id: string): Promise<KeyProposal> {
  const proposal = await findKeyProposal(store.db, id)
  if (!proposal) throw new NodeError('not_found', `there is no key ${id}: see esclusa keys list`)
  return proposal
}

function deciding({ config, store, seal, audit, actor }: OpenPlatform): Deciding {
  const { leastRsaBits } = config
  return { dialect: store.dialect, seal, audit, actor, now: Date.now(), leastRsaBits }
}
