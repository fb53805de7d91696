// The command line. Each command has its own file, which is loaded only when it is asked for, so that `serve` starts
// fast. Exit codes: 0 done, 1 failed, 2 wrong use, 3 refused by the node, 4 not reachable.

import { Command, CommanderError } from 'commander'
import { ERROR_CODES, NodeError, messageOf, systemCode } from '../errors.ts'
import { VERSION } from '../root.ts'
import { addClientCommands } from './client/client-commands.ts'
import { addNodeCommands } from './node/node-commands.ts'

const program = new Command('esclusa')
  .description('A managed file-transfer node: channels between banks and companies.')
  .version(VERSION, '-V, --version', 'print the version')
  .helpCommand(false)
  .exitOverride()

// Commands also make databases, keys and certificates. Only their owner may read these.
process.umask(0o077)

addNodeCommands(program)
addClientCommands(program)
program
  .command('completion <shell>')
  .description('print a script that completes commands and options: bash, zsh or fish')
  .action(async (shell: string) => (await import('./completion.ts')).completion(program, shell))

program
  .command('help [command...]')
  .description('print help for a command')
  .action((names: string[]) => printHelp(names))
sayHelpAfterError(program)

// The reader of our output may stop early (`| head`). That is no fault; a full disk is.
process.stdout.on('error', (thrown) => {
  if (systemCode(thrown) === 'EPIPE') process.exit(0)
  process.stderr.write(`esclusa: the output cannot be written: ${messageOf(thrown)}\n`)
  process.exit(1)
})

await run()

async function run(): Promise<void> {
  try {
    await program.parseAsync()
  } catch (thrown) {
    process.exitCode = report(thrown)
  }
}

/** A wrong use is answered with the command whose help tells the right one. */
function sayHelpAfterError(command: Command, path = 'esclusa'): void {
  command.showHelpAfterError(`(see ${path} --help)`)
  for (const one of command.commands) sayHelpAfterError(one, `${path} ${one.name()}`)
}

function printHelp(names: readonly string[]): void {
  let command = program
  for (const name of names) {
    const found = command.commands.find((one) => one.name() === name)
    if (!found) throw new NodeError('bad_use', `there is no command ${names.join(' ')}: see esclusa --help`)
    command = found
  }
  command.outputHelp()
}

function report(thrown: unknown): number {
  // Commander has said what was wrong.
  if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : 2
  process.stderr.write(`esclusa: ${messageOf(thrown)}\n`)
  return thrown instanceof NodeError ? ERROR_CODES[thrown.code].exit : 1
}
