// `esclusa serve`: runs the node until SIGTERM or SIGINT, then drains it.

import { readConfig } from '../../config.ts'
import { startNode } from '../../main.ts'
import type { RunningNode } from '../../main.ts'

export async function serve(): Promise<void> {
  // Heard from the first moment: whoever reads that it is ready may stop it at once, and it must still be drained.
  const asked = stopSignal()
  const node = await startNode(readConfig(process.env))
  welcome(node)
  await asked
  await node.stop()
}

/** For a person at the terminal, on standard error: standard output is the log's. */
function welcome({ url, firstAdmin }: RunningNode): void {
  const lines = [`Esclusa is ready at ${url}  (reference: ${url}/connect-back/docs)`]
  if (firstAdmin)
    lines.push(
      '',
      'This platform had no user yet. Its first administrator, shown this once:',
      `  username  ${firstAdmin.username}`,
      `  password  ${firstAdmin.password}`,
      '',
      'What next:',
      '  npx esclusa apply platform.yaml   make users, contacts and channels from a file',
      '  npx esclusa demo                  see two nodes exchange files',
      '  npx esclusa user passwd admin     choose another password',
    )
  process.stderr.write(`${lines.join('\n')}\n`)
}

function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve())
  })
}
