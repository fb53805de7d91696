// A node process with channels over the folder protocol, for benchmarks of the engine: its folders, its platform, calls
// to it and its memory. Everything lies in one temporary folder and goes with `remove`.

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import type { Channel } from '../src/contract/channel.ts'
import { BASE_PATH } from '../src/contract/operations.ts'
import type { Platform } from '../src/contract/administration/platform-file.ts'
import { NodeProcess, esclusa } from '../test/crash/node-process.ts'
import { listen } from '../test/crash/operator.ts'

export class TrialNode {
  readonly folder: string
  readonly node: NodeProcess
  readonly token: string

  private constructor(folder: string, node: NodeProcess, token: string) {
    this.folder = folder
    this.node = node
    this.token = token
  }

  /** Channels 0 to `channels` - 1, each with a partner of its own. `ESCLUSA_BENCH_DIR` says where files lie. */
  static async start(
    channels: number,
    channel: Channel = {},
    more: Record<string, string> = {},
  ): Promise<TrialNode> {
    const folder = await mkdtemp(join(process.env.ESCLUSA_BENCH_DIR ?? tmpdir(), 'esclusa-bench-'))
    const settings = {
      ESCLUSA_DATA_DIR: join(folder, 'data'),
      ESCLUSA_FILE_ROOTS: join(folder, 'files'),
      ESCLUSA_PORT: '0',
      ESCLUSA_LOG_LEVEL: 'error',
      ...(process.env.BENCH_WORKERS && { ESCLUSA_WORKERS: process.env.BENCH_WORKERS }),
      ...(process.env.BENCH_DATABASE && { ESCLUSA_DATABASE_URL: process.env.BENCH_DATABASE }),
      ...more,
    }
    const platform = await platformFor(join(folder, 'files'), channels, channel)
    await writeFile(join(folder, 'platform.yaml'), stringify(platform))
    await esclusa(settings, 'apply', join(folder, 'platform.yaml'))
    const token = (await esclusa(settings, 'token', 'create', '--user', 'bench')).trim()
    return new TrialNode(folder, await NodeProcess.start(settings), token)
  }

  out(number = 0): string {
    return join(this.folder, 'files', String(number), 'out')
  }

  inbox(number = 0): string {
    return join(this.folder, 'files', String(number), 'inbox')
  }

  async call(method: string, path: string): Promise<Response> {
    const headers = { authorization: `Bearer ${this.token}` }
    return fetch(`${this.node.url}${BASE_PATH}/integration/v2/channels/${path}`, { method, headers })
  }

  async send(number = 0): Promise<void> {
    const answer = await this.call('POST', `${codeOf(number)}/transfers/send`)
    if (answer.status !== 200) throw new Error(`send: ${answer.status} ${await answer.text()}`)
    await answer.body?.cancel()
  }

  /** Resolves with the times at which the transfers ended, when that many have. */
  ended(count: number): Promise<number[]> {
    const times: number[] = []
    return new Promise((resolve, reject) => {
      const ears = listen(this.node.url, this.token, (event) => {
        if (event.kind !== 'state') return
        if (event.status === 'FAILED') reject(new Error(`a transfer failed: ${event.error}`))
        if (event.status !== 'COMPLETED' || times.push(performance.now()) < count) return
        ears.close()
        resolve(times)
      })
    })
  }

  /** Resident memory of the process, all its threads, in MiB. */
  residentMib(): number {
    const kib = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${this.node.pid}/status`, 'utf8'))?.[1]
    return Number(kib ?? Number.NaN) / 1024
  }

  async remove(): Promise<void> {
    await this.node.stop()
    await rm(this.folder, { recursive: true, force: true })
  }
}

export function codeOf(number: number): string {
  return `BANCO-P${number}-FILES`
}

async function platformFor(folder: string, channels: number, channel: Channel): Promise<Platform> {
  const numbers = Array.from({ length: channels }, (_, number) => number)
  for (const number of numbers)
    for (const name of ['out', 'inbox', 'outbox'])
      await mkdir(join(folder, String(number), name), { recursive: true })
  return {
    localEntities: [{ code: 'BANCO', name: 'Banco' }],
    users: [{ username: 'bench', email: 'bench@banco.example', role: 'ROLE_GLOBALADMIN' }],
    contacts: numbers.map((number) => ({
      id: `P${number}`,
      remoteCodes: [{ code: `P${number}` }],
      protocol: 'folder',
      folder: {
        inbox: join(folder, String(number), 'inbox'),
        outbox: join(folder, String(number), 'outbox'),
      },
    })),
    channels: numbers.map((number) => ({
      code: codeOf(number),
      contact: `P${number}`,
      direction: 'EMISION',
      directories: [{ direction: 'EMISION', filePath: join(folder, String(number), 'out') }],
      allowSendDuplicateFiles: true,
      ...channel,
    })),
  }
}
