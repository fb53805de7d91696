// `esclusa serve`: runs the node until SIGTERM, SIGINT or SIGHUP (its terminal was closed), then drains it.

import type { FirstAdministrator } from '../../accounts/first-run.ts'
import { readConfig } from '../../config.ts'
import { firstSecretPaths, removeFirstSecrets } from '../../files/first-secrets.ts'
import { startNode } from '../../main.ts'
import type { RunningNode } from '../../main.ts'
import { stopSignal } from './stop-signal.ts'

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
  if (firstAdmin) {
    const { code, password } = shown(firstAdmin, dataDir)
    lines.push(
      '',
      `This platform had no user yet. Open ${url}/console and choose its first administrator:`,
      `  one-time code  ${code}`,
      '',
      'Or use the one that was made meanwhile:',
      `  username  ${firstAdmin.username}`,
      `  password  ${password}`,
      '',
      'What next:',
      '  npx esclusa apply platform.yaml   make users, contacts and channels from a file',
      '  npx esclusa demo                  see two nodes exchange files',
      '  npx esclusa user passwd admin     choose another password',
    )
  }
  process.stderr.write(`${lines.join('\n')}\n`)
  if (firstAdmin && process.stderr.isTTY) removeFirstSecrets(dataDir)
}

/** If this is no terminal, the text is kept by somebody. A service manager's log must not contain a secret. */
function shown({ code, password }: FirstAdministrator, dataDir: string): Record<'code' | 'password', string> {
  const paths = firstSecretPaths(dataDir)
  const say = (secret: string, path: string) =>
    process.stderr.isTTY ? `${secret}  (shown this once)` : `in ${path}: read it, then remove the file`
  return { code: say(code, paths.code), password: say(password, paths.password) }
}
