// Runs integration scripts: without a shell, with a cleared environment and a time limit. At the end the whole process
// group is killed. What a script prints is kept with the transfer, up to a limit. The path of a script comes from the
// channel, so it is resolved and confined again at each run.

import { spawn } from 'node:child_process'
import type { ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { NodeError, systemCode, tooManyOpen } from '../../errors.ts'
import { requireConfined } from '../../files/roots.ts'

export type Script = {
  path: string
  scriptRoots: readonly string[]
  /** Arguments after the script's own path. */
  args: readonly string[]
  /** ESCLUSA_… variables that describe the transfer and the file. */
  variables: Record<string, string>
  timeoutMs: number
  signal: AbortSignal
}

export const OUTPUT_LIMIT = 64 * 1024

/** Returns what the script printed. A non-zero exit, a signal or the time limit is script_failed, with its last line. */
export async function runScript(script: Script): Promise<string> {
  script.signal.throwIfAborted()
  const path = requireConfined(script.path, script.scriptRoots)
  const limit = AbortSignal.timeout(script.timeoutMs)
  const said: string[] = []
  const output = () => said.join('').slice(0, OUTPUT_LIMIT).replaceAll('\0', '\uFFFD') // no database keeps a NUL in text
  try {
    const child = spawn(path, [...script.args], {
      cwd: '/',
      env: { PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8', ...script.variables },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true, // its own process group, so that children of the script end with it
      shell: false,
    })
    const end = await watchChild(child, AbortSignal.any([limit, script.signal]), said)
    if (script.signal.aborted) throw script.signal.reason
    if (limit.aborted) throw failed(script, `took longer than ${script.timeoutMs / 1000} seconds`, output())
    if (end.code !== 0)
      throw failed(script, end.signal ? `was ended by ${end.signal}` : `exited with ${end.code}`, output())
    return output()
  } catch (thrown) {
    if (thrown instanceof NodeError) throw thrown
    throw cannotStartNow(script, thrown) ?? failed(script, 'could not be run', output(), thrown)
  }
}

type Child = ChildProcessByStdio<null, Readable, Readable>
type End = { code: number | null; signal: string | null }

/** Resolves when the script is over, its group is killed and what it printed has been read. */
async function watchChild(child: Child, stop: AbortSignal, said: string[]): Promise<End> {
  // It was not started. Where no file can be opened it has no pipes either, and says why by this event alone.
  if (child.pid === undefined) throw (await once(child, 'error'))[0]
  let length = 0
  const keep = (text: string) => {
    if (length >= OUTPUT_LIMIT) return
    said.push(text)
    length += text.length
  }
  child.stdout.setEncoding('utf8').on('data', keep)
  child.stderr.setEncoding('utf8').on('data', keep)
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const killGroup = () => {
    if (child.pid !== undefined) killQuietly(-child.pid)
  }
  stop.addEventListener('abort', killGroup)
  try {
    const end = await new Promise<End>((resolve, reject) => {
      child.once('error', reject)
      child.once('exit', (code, signal) => resolve({ code, signal }))
      if (stop.aborted) killGroup()
    })
    killGroup() // what the script left behind in its group
    await Promise.race([closed, delay(PIPES_MS, undefined, { ref: false })])
    return end
  } finally {
    stop.removeEventListener('abort', killGroup)
    // A process that left the group may hold the pipes for as long as it likes.
    child.stdout.destroy()
    child.stderr.destroy()
  }
}

const PIPES_MS = 1000

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The group is gone already.
  }
}

export class ScriptError extends NodeError {
  readonly output: string
  constructor(message: string, output: string, cause?: unknown) {
    super('script_failed', message, { cause })
    this.output = output
  }
}

/** A script that never ran has refused nothing, and may run later. */
export class NotStarted extends NodeError {
  constructor(message: string, cause: unknown) {
    super('disk_fault', message, { cause })
  }
}

/** Undefined: it is something else. */
function cannotStartNow(script: Script, thrown: unknown): NotStarted | undefined {
  const tooMany = tooManyOpen(thrown)
  if (tooMany) return new NotStarted(tooMany.message, thrown)
  const code = systemCode(thrown)
  if (code !== 'EAGAIN' && code !== 'ENOMEM') return undefined
  const message = `script ${script.path} cannot be started: too many processes or too little memory (${code})`
  return new NotStarted(message, thrown)
}

function failed(script: Script, how: string, output: string, cause?: unknown): ScriptError {
  const said = output.trim().split('\n').at(-1)?.slice(0, 200)
  return new ScriptError(`script ${script.path} ${how}${said ? `: ${said}` : ''}`, output, cause)
}
