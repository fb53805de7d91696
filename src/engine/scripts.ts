// Integration scripts: run without a shell, with a cleared environment, a time limit, and the whole process group
// killed at its end; what they print is kept with the transfer, up to a limit. A script is data of the channel, so its
// path is resolved and confined again at each run.

import { spawn } from 'node:child_process'
import { NodeError } from '../errors.ts'
import { requireConfined } from '../files/roots.ts'

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

/** What the script printed. A non-zero exit, a signal or the time limit is script_failed; output comes in the message's end. */
export async function runScript(script: Script): Promise<string> {
  script.signal.throwIfAborted()
  const path = requireConfined(script.path, script.scriptRoots)
  const child = spawn(path, [...script.args], {
    cwd: '/',
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8', ...script.variables },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // its own process group, so that children of the script end with it
    shell: false,
  })
  let output = ''
  const keep = (text: Buffer) => {
    if (output.length < OUTPUT_LIMIT) output += text.toString('utf8').slice(0, OUTPUT_LIMIT - output.length)
  }
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  const killGroup = () => {
    if (child.pid !== undefined) killQuietly(-child.pid)
  }
  const limit = AbortSignal.timeout(script.timeoutMs)
  const stop = AbortSignal.any([limit, script.signal])
  stop.addEventListener('abort', killGroup)
  try {
    const end = await new Promise<{ code: number | null; signal: string | null }>((resolve, reject) => {
      child.once('error', reject)
      child.once('exit', (code, signal) => resolve({ code, signal }))
    })
    killGroup() // what the script left behind in its group
    if (script.signal.aborted) throw script.signal.reason
    if (limit.aborted) throw failed(script, `took longer than ${script.timeoutMs / 1000} seconds`, output)
    if (end.code !== 0)
      throw failed(script, end.signal ? `was ended by ${end.signal}` : `exited with ${end.code}`, output)
    return output
  } catch (thrown) {
    throw thrown instanceof NodeError ? thrown : failed(script, 'could not be run', output, thrown)
  } finally {
    stop.removeEventListener('abort', killGroup)
  }
}

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

function failed(script: Script, how: string, output: string, cause?: unknown): ScriptError {
  const said = output.trim().split('\n').at(-1)?.slice(0, 200)
  return new ScriptError(`script ${script.path} ${how}${said ? `: ${said}` : ''}`, output, cause)
}
