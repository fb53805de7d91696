// `esclusa contacts` and `contact test`: the partners. People's data is shown only where JSON is asked for.

import { collect, pages } from '../../../sdk/index.ts'
import type { Contact } from '../../../sdk/index.ts'
import { TEST_ADVICE } from '../../contract/administration/connection-test.ts'
import { withNode } from './connect.ts'
import type { ClientFlags } from './connect.ts'
import { remarkPage, say, sayJson, sayTable } from '../print.ts'

export type ListFlags = ClientFlags & { page: number; size: number; all?: boolean }

export async function contacts(options: ListFlags & { contact?: string }): Promise<void> {
  const { page, size, contact } = options
  const filter = contact === undefined ? {} : { contactId: contact }
  await withNode(options, async (client) => {
    if (options.all) {
      const all = await collect(pages(client.listContacts, filter))
      return options.json ? sayJson(all) : sayContacts(all)
    }
    const answer = await client.listContacts({ ...filter, page, size })
    if (options.json) return sayJson(answer)
    sayContacts(answer.content)
    remarkPage(answer)
  })
}

function sayContacts(all: readonly Contact[]): void {
  const rows = all.map(({ id, name, version, os, channels, remoteCodes, remoteIPs }) => ({
    ID: id,
    NAME: name,
    VERSION: version,
    OS: os,
    CODES: (remoteCodes ?? []).map(({ code }) => code).join(', '),
    ADDRESSES: (remoteIPs ?? [])
      .map(({ ipAddress, port }) => (port === undefined ? ipAddress : `${ipAddress} ${port}`))
      .join(', '),
    CHANNELS: channels?.length,
  }))
  sayTable(rows, 'there is no contact')
}

/** A test waits for the partner, at several addresses perhaps. */
const TEST_MS = 300_000

/** Exit 1 where a step failed. */
export async function testContact(contactId: string, options: ClientFlags): Promise<void> {
  await withNode(options, async (client) => {
    const tested = await client.platform.testContact({ contactId }, { timeoutMs: TEST_MS })
    if (!tested.ok) process.exitCode = 1
    if (options.json) return sayJson(tested)
    for (const { address, channels, certificate, steps } of tested.ways) {
      say([address ?? tested.protocol, ...channels].join('  '))
      if (certificate) {
        const { subject, issuer, fingerprint, daysLeft, pinned } = certificate
        say(`${subject}, issued by ${issuer}, ${daysLeft} days left, ${pinned ? 'pinned' : 'not pinned'}`)
        say(`sha256:${fingerprint}`)
      }
      const rows = steps.map(({ step, outcome, seen, advice, milliseconds }) => ({
        STEP: step,
        OUTCOME: outcome,
        MS: milliseconds,
        SEEN: seen ?? '-',
        ADVICE: advice && TEST_ADVICE[advice],
      }))
      sayTable(rows, '')
    }
  })
}
