// `esclusa serve`: runs the node until SIGTERM or SIGINT, then drains it.

import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig } from '../../config.ts'
import { startNode } from '../../main.ts'
import type { RunningNode } from '../../main.ts'

export async function serve(): Promise<void> {
  // Heard from the first moment: whoever reads that it is ready may stop it at once, and it must still be drained.
  const asked = stopSignal()
  const config = readConfig(process.env)
  const node = await startNode(config)
  welcome(node, config.dataDir)
  await asked
  await node.stop()
}

/** For a person at the terminal, on standard error: standard output is the log's. */
function welcome({ url, firstAdmin }: RunningNode, dataDir: string): void {
  const lines = [`Esclusa is ready at ${url}  (reference: ${url}/connect-back/docs)`]
  if (firstAdmin)
    lines.push(
      '',
      'This platform had no user yet. Its first administrator:',
      `  username  ${firstAdmin.username}`,
      `  password  ${showPassword(firstAdmin.password, dataDir)}`,
      '',
      'What next:',
      '  npx esclusa apply platform.yaml   make users, contacts and channels from a file',
      '  npx esclusa demo                  see two nodes exchange files',
      '  npx esclusa user passwd admin     choose another password',
    )
  process.stderr.write(`${lines.join('\n')}\n`)
}

/** What is not a terminal is kept: a service manager's log must not hold a password. */
function showPassword(password: string, dataDir: string): string {
  if (process.stderr.isTTY) return `${password}  (shown this once)`
  const path = join(dataDir, 'first-password')
  rmSync(path, { force: true })
  writeFileSync(path, `${password}\n`, { mode: 0o600, flag: 'wx' })
  return `in ${path}: read it, then remove the file`
}

function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve())
  })
}
