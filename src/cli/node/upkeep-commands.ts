// The commands that keep a platform over the years: backup and restore.

import type { Command } from 'commander'
import { count } from '../arguments.ts'

export function addUpkeepCommands(program: Command): void {
  const backup = program
    .command('backup <file>')
    .description(
      'write database and data folder to a file while nodes run; the channels’ folders are not in it',
    )
    .option('--seal', 'sealed with a passphrase: ESCLUSA_PASSWORD, a prompt or standard input')
    .option('--key-file <path>', 'sealed with what that file holds')
    .option('--json', 'as JSON')
    .action(async (file: string, options) => (await import('./backup.ts')).backup(file, options))
  backup
    .command('verify <file>')
    .description(
      'read a backup to its end and say whether it could be restored (--key-file, --json as above)',
    )
    // Options of the same names are taken by `backup`, wherever they stand.
    .action(async (file: string, _options, command: Command) =>
      (await import('./backup.ts')).verify(file, command.optsWithGlobals()),
    )
  program
    .command('restore <file>')
    .description('put a backup in place while no node runs; what is there is set aside')
    .option('--replace', 'also where there is a platform already')
    .option('--key-file <path>', 'what it is sealed with')
    .action(async (file: string, options) => (await import('./restore.ts')).restoreFile(file, options))
  addHeldCommands(program)
}

/** Beside the keys of channels and partners. */
export function addRotateCommands(keys: Command): void {
  keys
    .command('rotate-master')
    .description('a new master key, and everything sealed anew with it, beside running nodes')
    .action(async () => (await import('./rotate-keys.ts')).rotateMaster())
  keys
    .command('rotate-jwt')
    .description('a new secret for tokens; those made before live out or end')
    .option('--end-tokens', 'they end at once')
    .option('--live-hours <n>', 'they live out, at most so long', count, 24)
    .action(async (options) => (await import('./rotate-keys.ts')).rotateJwt(options))
}

function addHeldCommands(program: Command): void {
  const held = program.command('held').description('files that wait for a decision since a restore')
  held
    .command('list', { isDefault: true })
    .description('print them')
    .option('--json', 'as JSON')
    .action(async (options) => (await import('./held.ts')).listHeld(options))
  held
    .command('send [ids...]')
    .description('the partner does not have them: they may be sent')
    .option('--channel <code>', 'all of that channel')
    .option('--all', 'all there are')
    .action(async (ids: string[], options) => (await import('./held.ts')).sendHeld(ids, options))
  held
    .command('drop [ids...]')
    .description('the partner has them: they count as sent')
    .option('--channel <code>', 'all of that channel')
    .option('--all', 'all there are')
    .action(async (ids: string[], options) => (await import('./held.ts')).dropHeldFiles(ids, options))
}
