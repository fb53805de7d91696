// The node that is attacked: a bank with a payroll channel that only `jefa` may reach, and a channel of its own for
// `luis`, an advanced operator who wants more. His partner is a folder on the same machine, where all sees what arrives.

import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { applyPlatform } from '../../src/platform/apply.ts'
import type { Platform, PlatformChannel } from '../../src/contract/administration/platform-file.ts'
import { startTestNode, waitFor } from '../support/harness.ts'
import type { NodeOptions, TestNode } from '../support/harness.ts'
import type { RunningNode } from '../../src/main.ts'

export const PAGOS = 'BANCO-PAGOS-NOMINA'
export const PROPIO = 'BANCO-SOCIO-PROPIO'
export const PASSWORD = 'a password for everybody'

export type Bank = TestNode &
  RunningNode & {
    folder(name: string): string
    put(name: string, text: string): Promise<void>
    /** Names in a folder of the file root. */
    list(name: string): Promise<string[]>
    /** What luis's partner has got. */
    partnerHas(): Promise<string[]>
    apply(platform: Platform): Promise<void>
  }

const FOLDERS = ['pagos-in', 'pagos-out', 'propio-in', 'propio-out', 'partner-inbox', 'partner-outbox']

export type BankOptions = NodeOptions & {
  pagos?: Partial<PlatformChannel>
  propio?: Partial<PlatformChannel>
  platform?: Platform
}

export async function startBank(t: TestContext, options: BankOptions = {}): Promise<Bank> {
  const node = await startTestNode(t, { ...options, empty: true })
  const folder = (name: string) => join(node.files, name)
  for (const name of FOLDERS) await mkdir(folder(name), { recursive: true })
  const apply = async (platform: Platform) => {
    await applyPlatform(node.store, node.context.seal, platform, { now: Date.now() })
  }
  await apply(platformOf(folder, options))
  return {
    ...node,
    folder,
    apply,
    put: (name, text) => writeFile(folder(name), text),
    list: async (name) => (await readdir(folder(name))).sort(),
    partnerHas: async () => (await readdir(folder('partner-inbox'))).filter((name) => !name.startsWith('.')),
  }
}

function platformOf(folder: (name: string) => string, { pagos, propio, platform }: BankOptions): Platform {
  return {
    localEntities: [{ code: 'BANCO', name: 'Banco' }],
    users: [
      { username: 'jefa', email: 'jefa@banco.example', role: 'ROLE_ADVOPERATOR', password: PASSWORD },
      { username: 'luis', email: 'Luis@banco.example', role: 'ROLE_ADVOPERATOR', password: PASSWORD },
      { username: 'fina', email: 'fina@banco.example', role: 'ROLE_ADMINFF' },
      { username: 'root', email: 'root@banco.example', role: 'ROLE_GLOBALADMIN', password: PASSWORD },
    ],
    contacts: [
      {
        id: 'pagos',
        remoteCodes: [{ code: 'PAGOS' }],
        remoteIPs: [{ ipAddress: '127.0.0.1', port: 3305 }],
        protocol: 'oftp2',
      },
      {
        id: 'socio',
        remoteCodes: [{ code: 'SOCIO' }],
        remoteIPs: [{ ipAddress: '127.0.0.1', port: 3305 }],
        protocol: 'folder',
        folder: { inbox: folder('partner-inbox'), outbox: folder('partner-outbox') },
      },
    ],
    ...platform,
    channels: [
      {
        code: PAGOS,
        contact: 'pagos',
        direction: 'BIDIRECCIONAL',
        users: ['jefa'],
        directories: [
          { direction: 'EMISION', filePath: folder('pagos-out') },
          { direction: 'RECEPCION', filePath: folder('pagos-in') },
        ],
        ...pagos,
      },
      {
        code: PROPIO,
        contact: 'socio',
        direction: 'BIDIRECCIONAL',
        directories: [
          { direction: 'EMISION', filePath: folder('propio-out') },
          { direction: 'RECEPCION', filePath: folder('propio-in') },
        ],
        ...propio,
      },
      ...(platform?.channels ?? []),
    ],
  }
}

/** Sends, and waits until the transfer is over; the status where it was refused. */
export async function sendAndWait(bank: Bank, code: string, as: string): Promise<string> {
  const { status, body } = await bank.call('sendTransfer', { code, as })
  if (status !== 200) return String(status)
  const ended = await waitFor('the transfer to end', async () => {
    const transferId = String(body.transferId)
    const detail = await bank.call('transferDetail', { code, as: 'root', transferId })
    const state = String(detail.body.status)
    return ['COMPLETED', 'FAILED', 'CANCELLED'].includes(state) && state
  })
  return String(ended)
}
