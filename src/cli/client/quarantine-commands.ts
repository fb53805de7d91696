// The commands about quarantined files.

import type { Command } from 'commander'

type Form = (parent: Command, form: string, description: string) => Command

export function addQuarantineCommands(program: Command, command: Form, list: Form): void {
  const quarantine = program
    .command('quarantine')
    .description('received files that did not pass their checks')
  list(quarantine, 'list', 'list quarantined files, newest first')
    .option('--channel <code>', 'only of this channel')
    .option('--state <state>', 'such as WAITING')
    .action(async (options) => (await import('./quarantine.ts')).listQuarantine(options))
  command(quarantine, 'download <id> <file>', 'write a quarantined file there, as it came')
    .option('--opened', 'the file itself instead, taken out without regard to who signed it')
    .action(async (id: string, file: string, options) =>
      (await import('./quarantine.ts')).downloadQuarantined(id, file, options),
    )
  command(quarantine, 'release <id>', 'put a quarantined file into its channel’s inbound directory').action(
    async (id: string, options) => (await import('./quarantine.ts')).releaseQuarantined(id, options),
  )
  command(quarantine, 'discard <id>', 'remove the bytes of a quarantined file').action(
    async (id: string, options) => (await import('./quarantine.ts')).discardQuarantined(id, options),
  )
}
