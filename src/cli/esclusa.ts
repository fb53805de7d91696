// The command line. Each command lies in a file of its own, loaded only when it is the one asked for.

import { Command, CommanderError } from 'commander'
import { CLIENT_SETTINGS } from '../config.ts'
import { ERROR_CODES, NodeError, messageOf } from '../errors.ts'

const program = new Command('esclusa')
  .description('A managed file-transfer node: channels between banks and companies.')
  .showHelpAfterError('(see esclusa --help)')
  .exitOverride()

program
  .command('serve')
  .description('run the node: HTTP, listeners, engine')
  .action(async () => (await import('./serve.ts')).serve())

void CLIENT_SETTINGS
await run()

async function run(): Promise<void> {
  try {
    await program.parseAsync()
  } catch (thrown) {
    process.exitCode = report(thrown)
  }
}

/** 0 done, 1 failed, 2 wrong use, 3 refused by the node, 4 not reachable. */
function report(thrown: unknown): number {
  if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : 2
  process.stderr.write(`esclusa: ${messageOf(thrown)}\n`)
  return thrown instanceof NodeError ? ERROR_CODES[thrown.code].exit : 1
}
