// A bank that one partner calls, over OFTP2 and SFTP, with channels that ask for different things; and the partner, made of
// a bare socket or a client library, which tries what it likes.

import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import type { TestContext } from 'node:test'
import type { CommandOf } from '../../src/engine/transports/oftp2/protocol/commands.ts'
import { loadSsh } from '../../src/engine/transports/ssh/library.ts'
import type { RunningNode } from '../../src/main.ts'
import { applyPlatform } from '../../src/platform/apply.ts'
import type { PlatformChannel, PlatformContact } from '../../src/contract/administration/platform-file.ts'
import { closeAfter, startTestNode, waitFor } from '../support/harness.ts'
import type { TestNode } from '../support/harness.ts'
import { SAMPLES, TrialPartner } from '../support/oftp2/partner.ts'
import { freePort } from '../support/sftp/openssh.ts'

type Apply = (
  contact: Partial<PlatformContact>,
  channels: Record<string, Partial<PlatformChannel>>,
) => Promise<void>

export type CalledBank = TestNode &
  RunningNode & {
    port: number
    /** Names in a channel's inbound folder. */
    received(application: string): Promise<string[]>
    /** Puts a file into a channel's outbound folder and asks for it to be sent. */
    send(application: string, name: string): Promise<string>
    stateOf(transferId: string): Promise<string>
    apply: Apply
    /** The same with nothing left of before: neither keys that a file leaves out nor wrong passwords that were tried. */
    startAnew: Apply
  }

export const codeOf = (application: string) => `BANCO-ACME-${application}`

/** Waits to be called, by a channel of that partner's for each application (or under another code, if one says so). */
export async function startCalledBank(
  t: TestContext,
  protocol: 'oftp2' | 'sftp',
  { tls = false, settings = {} }: { tls?: boolean; settings?: Record<string, string> } = {},
): Promise<CalledBank> {
  const port = await freePort()
  const oftp2 = tls ? 'ESCLUSA_OFTP2_TLS_PORT' : 'ESCLUSA_OFTP2_PORT'
  const setting = protocol === 'oftp2' ? oftp2 : 'ESCLUSA_SFTP_PORT'
  const node = await startTestNode(t, { empty: true, settings: { [setting]: String(port), ...settings } })
  const folder = (application: string, way: string) => join(node.files, application, way)
  const codes = new Map<string, string>()
  const apply: Apply = async (contact, channels) => {
    for (const [application, { code = codeOf(application) }] of Object.entries(channels)) {
      codes.set(application, code)
      for (const way of ['in', 'out']) await mkdir(folder(application, way), { recursive: true })
    }
    const platform = {
      localEntities: [
        { code: 'BANCO', name: 'Banco' },
        { code: 'CAJA', name: 'Caja' },
      ],
      contacts: [{ id: 'acme', remoteCodes: [{ code: 'ACME' }], protocol, ...contact }],
      channels: Object.entries(channels).map(([application, channel]) => ({
        code: codeOf(application),
        contact: 'acme',
        direction: 'BIDIRECCIONAL' as const,
        directories: [
          { direction: 'EMISION' as const, filePath: folder(application, 'out') },
          { direction: 'RECEPCION' as const, filePath: folder(application, 'in') },
        ],
        ...channel,
      })),
    }
    await applyPlatform(node.store, node.context.seal, platform, { now: Date.now(), prune: true })
  }
  return {
    ...node,
    port,
    received: async (application) => (await readdir(folder(application, 'in'))).sort(),
    send: async (application, name) => {
      await writeFile(join(folder(application, 'out'), name), `the payroll of ${application}`)
      const { status, text, body } = await node.call('sendTransfer', {
        code: codes.get(application) ?? codeOf(application),
        as: 'admin',
      })
      if (status !== 200) throw new Error(`send: ${status} ${text}`)
      return String(body.transferId)
    },
    stateOf: async (id) => {
      const rows = await node.store.db.selectFrom('transfer').select('state').where('id', '=', id).execute()
      return rows[0]?.state ?? ''
    },
    apply,
    startAnew: async (contact, channels) => {
      // What came in last may still be being finished; until then its channel cannot be removed.
      await waitFor('all transfers to end', async () => {
        const open = node.store.db.selectFrom('transfer').select('id').where('ended_at', 'is', null)
        return (await open.execute()).length === 0
      })
      await apply({}, {})
      await node.store.write(async (tx) => {
        await tx.deleteFrom('login_failure').execute()
        await tx.deleteFrom('login_lock').execute()
      })
      await apply(contact, channels)
    },
  }
}

export const SSID: CommandOf<'SSID'> = { ...SAMPLES.SSID, code: 'ACME' }

/** Calls and signs in; the reason of the node's ESID where it is turned away. */
export async function callBank(
  t: TestContext,
  port: number,
  password = '',
  code = SSID.code,
): Promise<TrialPartner | string> {
  return signIn(t, await TrialPartner.call(port), password, code)
}

/** The same over TLS, with that certificate. */
export async function callBankOverTls(
  t: TestContext,
  port: number,
  shows: { key?: string; cert?: string },
  password = '',
): Promise<TrialPartner | string> {
  const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false, ...shows })
  await once(socket, 'secureConnect')
  return signIn(t, new TrialPartner(socket), password)
}

async function signIn(
  t: TestContext,
  partner: TrialPartner,
  password: string,
  code = SSID.code,
): Promise<TrialPartner | string> {
  closeAfter(t, async () => partner.close())
  await partner.expect('SSRM')
  partner.say({ ...SSID, code, password })
  const answer = await partner.hear()
  if (answer?.kind !== 'ESID') return partner
  partner.close()
  return answer.reason
}

let files = 0

/** Offers a file, as F and a number, and hands it over if it is taken; the reason of the refusal otherwise. */
export async function deliver(
  partner: TrialPartner,
  application: string,
  name = 'order.txt',
  ends: { originator?: string; destination?: string } = {},
): Promise<string> {
  const time = `12${String(++files).padStart(8, '0')}`
  const ids = { originator: 'ACME', destination: 'BANCO', ...ends }
  partner.say({ ...SAMPLES.SFID, ...ids, dataset: `F${files}`, time, user: application, description: name })
  const answer = await partner.hear()
  if (answer?.kind === 'SFNA') return answer.reason
  if (answer?.kind !== 'SFPA') return answer?.kind ?? 'closed'
  partner.say(SAMPLES.DATA, SAMPLES.EFID)
  return (await partner.hear())?.kind ?? 'closed'
}

/** What the node hands over when it is given the turn: the applications and names of the files, and receipts. */
export async function take(partner: TrialPartner): Promise<string[]> {
  partner.say({ kind: 'CD' })
  const taken: string[] = []
  for (;;) {
    const command = await partner.hear()
    if (command?.kind === 'SFID') {
      taken.push(`${command.user} ${command.description}`)
      partner.say({ kind: 'SFPA', position: 0n })
    } else if (command?.kind === 'EFID') partner.say({ kind: 'EFPA', changeDirection: 'N' })
    else if (command?.kind === 'EERP' || command?.kind === 'NERP') {
      taken.push(`${command.kind} ${command.dataset}`)
      partner.say({ kind: 'RTR' })
    } else if (command?.kind !== 'DATA') return taken
  }
}

/** The folders that a client of the SFTP listener sees; undefined where it is not let in. */
export async function seenOverSftp(
  port: number,
  as: { username: string; password?: string; privateKey?: string },
): Promise<string[] | undefined> {
  const { Client } = loadSsh().ssh2
  const client = new Client()
  const socket = connect({ host: '127.0.0.1', port })
  try {
    await new Promise<void>((resolve, reject) => {
      client.once('ready', () => resolve()).once('error', reject)
      client.connect({ sock: socket, hostVerifier: () => true, ...as })
    })
  } catch {
    socket.destroy()
    return undefined
  }
  const names = await new Promise<string[]>((resolve, reject) => {
    client.sftp((error, sftp) => {
      if (error) return reject(error)
      sftp.readdir('/', (failed, list) =>
        failed ? reject(failed) : resolve(list.map((one) => one.filename)),
      )
    })
  })
  client.end()
  return names.sort()
}
