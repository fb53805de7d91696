// The operations of the interface as commands, against a node's URL, all through the typed client.

import type { Command } from 'commander'
import { count, day } from '../arguments.ts'
import { addQuarantineCommands } from './quarantine-commands.ts'
import { addNotificationCommands } from './notification-commands.ts'

export function addClientCommands(program: Command): void {
  command(program, 'login', 'print a token: export ESCLUSA_TOKEN=$(npx esclusa login --username ana)')
    .requiredOption('--username <name>')
    .action(async (options) => (await import('./login.ts')).login(options))
  list(program, 'channels', 'list channels')
    .option('--contact <id>', 'only those of this contact')
    .action(async (options) => (await import('./channels.ts')).channels(options))
  list(program, 'contacts', 'list contacts')
    .option('--contact <id>', 'only this one')
    .action(async (options) => (await import('./contacts.ts')).contacts(options))
  const contact = program.command('contact').description('one partner')
  command(contact, 'test <id>', 'test the connection to a partner, step by step; sends nothing').action(
    async (id: string, options) => (await import('./contacts.ts')).testContact(id, options),
  )
  command(program, 'configuration <channel>', 'print a channel’s configuration').action(
    async (code: string, options) => (await import('./channels.ts')).configuration(code, options),
  )
  command(
    program,
    'update <channel> [file]',
    'change a channel by a JSON file, or standard input: fields given replace, null clears',
  ).action(async (code: string, file: string | undefined, options) =>
    (await import('./channels.ts')).update(code, file, options),
  )
  command(program, 'status <channel>', 'print what a channel is doing').action(
    async (code: string, options) => (await import('./channels.ts')).status(code, options),
  )
  list(program, 'history <channel>', 'print a channel’s history, newest first').action(
    async (code: string, options) => (await import('./channels.ts')).history(code, options),
  )
  addTransferCommands(program)
  command(program, 'call [operation] [parameters...]', 'call any operation of the node; alone: list them')
    .option('--body <file>', 'its body: a JSON file, - for standard input, or the JSON itself')
    .option('--if-match <tag>', 'change it only if it still is the revision of this ETag')
    .action(async (name: string | undefined, parameters: string[], options) =>
      (await import('./call.ts')).call(name, parameters, options),
    )
  addNotificationCommands(program, command)
  addQuarantineCommands(program, command, list)
}

function addTransferCommands(program: Command): void {
  list(program, 'transfers [channel]', 'list the transfers of a channel, or with --all those of all channels')
    .option('--from <day>', 'first day, yyyy-MM-dd', day)
    .option('--to <day>', 'last day, yyyy-MM-dd, included', day)
    .option('--file <name>', 'only with a file of this name, or a part of it; * and ? may stand in it')
    .option('--hash <sha256>', 'only with a file of this hash')
    .option('--channels <words>', 'only of channels with these words')
    .option('--contact <id>', 'only with this partner')
    .option('--status <status>', 'such as FAILED')
    .option('--direction <direction>', 'EMISION or RECEPCION')
    .option('--type <type>', 'such as AUTOMATIC')
    .option('--oldest', 'the oldest first')
    .option('--csv', 'everything that fits, as CSV')
    .action(async (code: string | undefined, options) =>
      (await import('./transfers.ts')).transfers(code, options),
    )
  command(program, 'transfer <channel> <id>', 'print one transfer and its files').action(
    async (code: string, id: string, options) => (await import('./transfers.ts')).transfer(code, id, options),
  )
  command(program, 'upload <channel> <file>', 'put a file into the channel’s outbound directory')
    .option('--name <name>', 'its name there; the file’s own if left out')
    .option('--send', 'then send what lies ready')
    .option('--watch', 'with --send: wait until the transfer ends; exit 1 if it failed')
    .action(async (code: string, file: string, options) =>
      (await import('./upload.ts')).upload(code, file, options),
    )
  command(program, 'send <channel>', 'send the files that lie ready')
    .option('--watch', 'wait until the transfer ends; exit 1 if it failed')
    .action(async (code: string, options) => (await import('./transfers.ts')).send(code, options))
  command(program, 'fetch <channel>', 'call the partner now and take what it has for the channel')
    .option('--watch', 'wait until the transfer ends; exit 1 if it failed')
    .action(async (code: string, options) => (await import('./transfers.ts')).fetch(code, options))
  command(program, 'retry <channel>', 'retry the last failed transfer')
    .option('--watch', 'wait until the transfer ends; exit 1 if it failed')
    .action(async (code: string, options) => (await import('./transfers.ts')).retry(code, options))
  command(program, 'preview <channel>', 'print which files a send would take now').action(
    async (code: string, options) => (await import('./transfer-actions.ts')).preview(code, options),
  )
  command(program, 'cancel <channel> <id>', 'cancel one transfer that waits or runs')
    .option('--comment <text>', 'why')
    .action(async (code: string, id: string, options) =>
      (await import('./transfer-actions.ts')).cancel(code, id, options),
    )
  command(program, 'resend <channel> <id>', 'send the files of a completed transfer once more')
    .requiredOption('--comment <text>', 'why')
    .option('--watch', 'wait until the transfer ends; exit 1 if it failed')
    .action(async (code: string, id: string, options) =>
      (await import('./transfer-actions.ts')).resend(code, id, options),
    )
  list(program, 'failures', 'list failed transfers of all channels, newest first')
    .option('--hours <n>', 'how many hours back, 168 at the most', count, 24)
    .option('--search <words>', 'only with these words in the channel, the reason or a file’s name')
    .option('--contact <id>', 'only with this partner')
    .action(async (options) => (await import('./transfer-actions.ts')).failures(options))
  command(program, 'reset <channel>', 'cancel what is pending or running and clear an error').action(
    async (code: string, options) => (await import('./transfers.ts')).reset(code, options),
  )
}

function command(program: Command, form: string, description: string): Command {
  return program
    .command(form)
    .description(description)
    .option('--url <url>', 'the node’s address (or ESCLUSA_URL; http://127.0.0.1:8080)')
    .option('--token <token>', 'a bearer token (or ESCLUSA_TOKEN)')
    .option('--json', 'as JSON')
}

function list(program: Command, form: string, description: string): Command {
  return command(program, form, description)
    .option('--page <n>', 'which page', count, 1)
    .option('--size <n>', 'how many on a page', count, 50)
    .option('--all', 'all pages')
}
