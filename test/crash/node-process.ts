// Real node processes for suites that kill and freeze them: `esclusa serve` and the other commands, each started with
// nothing of this process's environment but what is given. Whatever is started is gone when the test ends.

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export type Settings = Readonly<Record<string, string>>

const COMMAND = fileURLToPath(new URL('../../bin/esclusa.js', import.meta.url))
const LINES_KEPT = 200

export function launch(settings: Settings, args: readonly string[], command = COMMAND): ChildProcess {
  const { PATH = '', HOME = '/', TMPDIR = '' } = process.env
  const env = { PATH, HOME, ...(TMPDIR && { TMPDIR }), ...settings }
  return spawn(process.execPath, [command, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
}

/** Runs a command to its end; what it printed, or an error with what it complained about. */
export function esclusa(settings: Settings, ...args: string[]): Promise<string> {
  return run(settings, args)
}

/** The same by the program of another version. */
export async function run(settings: Settings, args: string[], command?: string): Promise<string> {
  const child = launch(settings, args, command)
  const [said, complained] = await Promise.all([
    textOf(child.stdout),
    textOf(child.stderr),
    once(child, 'close'),
  ])
  if (child.exitCode !== 0) throw new Error(`esclusa ${args[0]} ended with ${child.exitCode}: ${complained}`)
  return said
}

async function textOf(stream: NodeJS.ReadableStream | null): Promise<string> {
  let text = ''
  for await (const piece of stream ?? []) text += String(piece)
  return text
}

export class NodeProcess {
  readonly url: string
  readonly #child: ChildProcess
  readonly #gone: Promise<unknown>
  /** The last lines it printed, for a message. */
  readonly lines: string[]

  private constructor(url: string, child: ChildProcess, lines: string[]) {
    this.url = url
    this.#child = child
    this.#gone =
      child.exitCode === null && child.signalCode === null ? once(child, 'exit') : Promise.resolve()
    this.lines = lines
  }

  /** Resolves when it serves requests. */
  static async start(settings: Settings, command?: string): Promise<NodeProcess> {
    const child = launch(settings, ['serve'], command)
    const lines: string[] = []
    const keep = (line: string) => {
      lines.push(line)
      if (lines.length > LINES_KEPT) lines.shift()
    }
    if (child.stdout) createInterface({ input: child.stdout }).on('line', keep)
    const url = await new Promise<string>((resolve, reject) => {
      child.once('exit', () => reject(new Error(`the node ended before it was ready: ${lines.join('\n')}`)))
      if (child.stderr)
        createInterface({ input: child.stderr }).on('line', (line) => {
          keep(line)
          const found = /ready at (\S+)/.exec(line)?.[1]
          if (found) resolve(found)
        })
    })
    return new NodeProcess(url, child, lines)
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name)
  }

  /** `kill -9`, and the process is gone when this resolves. */
  async kill(): Promise<void> {
    this.signal('SIGKILL')
    await this.#gone
  }

  /** Drained, which it says by its exit code. */
  async stop(): Promise<void> {
    this.signal('SIGTERM')
    await this.#gone
    const { exitCode, signalCode } = this.#child
    if (exitCode !== 0)
      throw new Error(
        `the node was stopped and ended with ${exitCode ?? signalCode}: ${this.lines.join('\n')}`,
      )
  }
}
