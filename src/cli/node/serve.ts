// `esclusa serve`: runs the node until SIGTERM or SIGINT, then drains it.

import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig } from '../../config.ts'
import { startNode } from '../../main.ts'
import type { RunningNode } from '../../main.ts'

export async function serve(): Promise<void> {
  // Set from the first moment: somebody may stop the node as soon as it says that it is ready. It must still drain.
  const asked = stopSignal()
  const config = readConfig(process.env)
  const node = await startNode(config)
  welcome(node, config.dataDir)
  await asked
  await node.stop()
}

/** For a person at the terminal, on standard error. The log goes to standard output. */
function welcome({ url, firstAdmin }: RunningNode, dataDir: string): void {
  const lines = [
    `Esclusa is ready at ${url}`,
    `  console    ${url}/console`,
    `  reference  ${url}/connect-back/docs`,
  ]
  if (firstAdmin)
    lines.push(
      '',
      `This platform had no user yet. Open ${url}/console and choose its first administrator:`,
      `  one-time code  ${showOnce(firstAdmin.code, dataDir, 'first-run-code')}`,
      '',
      'Or use the one that was made meanwhile:',
      `  username  ${firstAdmin.username}`,
      `  password  ${showOnce(firstAdmin.password, dataDir, 'first-password')}`,
      '',
      'What next:',
      '  npx esclusa apply platform.yaml   make users, contacts and channels from a file',
      '  npx esclusa demo                  see two nodes exchange files',
      '  npx esclusa user passwd admin     choose another password',
    )
  process.stderr.write(`${lines.join('\n')}\n`)
}

/** If this is no terminal, the text is kept by somebody. A service manager's log must not contain a secret. */
function showOnce(secret: string, dataDir: string, file: string): string {
  if (process.stderr.isTTY) return `${secret}  (shown this once)`
  const path = join(dataDir, file)
  rmSync(path, { force: true })
  writeFileSync(path, `${secret}\n`, { mode: 0o600, flag: 'wx' })
  return `in ${path}: read it, then remove the file`
}

function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve())
  })
}
