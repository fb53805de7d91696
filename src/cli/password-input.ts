// Passwords come from ESCLUSA_PASSWORD, from a prompt that does not echo, or from the first line of standard input.
// They never come from an argument: every process on the machine can read those.

import { createInterface } from 'node:readline/promises'
import { text } from 'node:stream/consumers'
import { Writable } from 'node:stream'
import { NodeError } from '../errors.ts'

export async function readPassword(prompt: string): Promise<string> {
  const given = process.env.ESCLUSA_PASSWORD
  if (given) return given
  const password = process.stdin.isTTY ? await ask(prompt) : firstLine(await text(process.stdin))
  if (password === '')
    throw new NodeError('bad_use', 'no password was given: set ESCLUSA_PASSWORD, type it, or pipe it in')
  return password
}

/** Asked for twice at a terminal, because the text is not shown. */
export async function readNewPassword(prompt: string): Promise<string> {
  const password = await readPassword(prompt)
  if (process.env.ESCLUSA_PASSWORD || !process.stdin.isTTY) return password
  if ((await ask('the same again: ')) !== password)
    throw new NodeError('bad_use', 'the two are not the same: nothing was changed')
  return password
}

async function ask(prompt: string): Promise<string> {
  const silence = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: silence, terminal: true })
  // Shown only now that the terminal does not echo any more: somebody may type at once. On standard error, because a
  // script may read standard output.
  process.stderr.write(prompt)
  try {
    return await new Promise<string>((resolve, reject) => {
      lines.once('SIGINT', () => reject(new NodeError('bad_use', 'stopped')))
      lines.once('close', () => reject(new NodeError('bad_use', 'no password was given')))
      lines.once('line', resolve)
    })
  } finally {
    lines.close()
    process.stderr.write('\n')
  }
}

function firstLine(given: string): string {
  return given.split(/\r?\n/, 1)[0] ?? ''
}
