// The commands that run a node, or work on its database and files, on the node's own machine.

import type { Command } from 'commander'
import { count, day } from '../arguments.ts'
import { addRotateCommands, addUpkeepCommands } from './upkeep-commands.ts'

export function addNodeCommands(program: Command): void {
  program
    .command('serve')
    .description('run the node: HTTP, listeners, engine')
    .action(async () => (await import('./serve.ts')).serve())
  program
    .command('demo')
    .description('two nodes on loopback that exchange files, to look around')
    .option('--folder <path>', 'where everything it makes lies', './demo-data')
    .option('--port <n>', 'HTTP port of the bank node; the partner takes the next', count, 8080)
    .action(async (options) => (await import('./demo.ts')).demo(options))
  program
    .command('doctor')
    .description('say what is wrong with this set-up: database, folders, keys, ports, clock, partners')
    .option('--json', 'as JSON')
    .option('--partners', 'call every partner too, as far as its login and folders; sends nothing')
    .action(async (options) => (await import('./doctor.ts')).doctor(options))
  program
    .command('apply <file>')
    .description('make the platform be as the file says: all or nothing')
    .option('--dry-run', 'only say what would change')
    .option('--prune', 'also remove what the file does not name')
    .action(async (file: string, options) => (await import('./apply.ts')).apply(file, options))
  program
    .command('export')
    .description('print the platform as a file')
    .option('--secrets', 'with password hashes and keys')
    .action(async (options) => (await import('./export.ts')).exportFile(options))
  program
    .command('check <file>')
    .description('say what is wrong with a platform file, by line and column; needs no database')
    .action(async (file: string) => (await import('./check.ts')).check(file))
  addUserCommands(program)
  addTokenCommands(program)
  addKeyCommands(program)
  addAuditCommands(program)
  addUpkeepCommands(program)
}

function addTokenCommands(program: Command): void {
  const token = program.command('token').description('tokens for systems')
  token
    .command('create')
    .description('print a token of a user')
    .requiredOption('--user <username>', 'whose token')
    .option('--hours <n>', 'how long it is valid, a year (8760) at the most', count, 24)
    .option('--name <name>', 'what it is for, to know it by in the list')
    .action(async (options) => (await import('./token.ts')).createToken(options))
  token
    .command('list')
    .description('print the tokens, when each was last used, and whether it is still valid')
    .option('--user <username>', 'only those of this user')
    .option('--json', 'as JSON')
    .action(async (options) => (await import('./token.ts')).showTokens(options))
  token
    .command('revoke <id>')
    .description('take a token back, by its id or by a name that only one has; it ends at once')
    .action(async (id: string) => (await import('./token.ts')).revoke(id))
}

function addUserCommands(program: Command): void {
  const user = program
    .command('user')
    .description('accounts; passwords come from ESCLUSA_PASSWORD, a prompt or standard input')
  user
    .command('add <username>')
    .description('make an account')
    // Required, but not of the parser, which would ask for the first of them before the username.
    .option('--email <address>', 'e-mail address, which the v1 login uses (required)')
    .option('--role <role>', 'such as ROLE_OPERATOR (required)')
    .option('--name <name>')
    .option('--last-name <name>')
    .option('--second-last-name <name>')
    .option('--language <language>', 'such as en or es', 'en')
    .option('--no-password', 'no login by password: tokens only')
    .action(async (username: string, options) => (await import('./user.ts')).addUser(username, options))
  user
    .command('passwd <username>')
    .description('give an account another password; its tokens end')
    .action(async (username: string) => (await import('./user.ts')).changePassword(username))
  user
    .command('disable <username>')
    .description('no more logins; its tokens end')
    .action(async (username: string) => (await import('./user.ts')).setDisabled(username, true))
  user
    .command('enable <username>')
    .description('logins again')
    .action(async (username: string) => (await import('./user.ts')).setDisabled(username, false))
  user
    .command('remove <username>')
    .description('take an account away; its tokens and sessions end')
    .action(async (username: string) => (await import('./user.ts')).removeUser(username))
  user
    .command('list')
    .description('print the accounts')
    .option('--json', 'as JSON')
    .action(async (options) => (await import('./user.ts')).listUsers(options))
}

function addAuditCommands(program: Command): void {
  const audit = program.command('audit').description('who did what, when and from where')
  audit
    .command('verify')
    .description('say whether an entry was changed, removed, moved or added; exit 1 if so')
    .option('--file <file>', 'check an export of the whole trail instead (- for standard input)')
    .option('--key <file>', 'with this public key (PEM), for --file')
    .option('--json', 'as JSON')
    .action(async (options) => (await import('./audit.ts')).verify(options))
  audit
    .command('export')
    .description('print the trail, oldest first')
    .option('--format <format>', 'jsonl or csv', 'jsonl')
    .option('--from <day>', 'first day, yyyy-MM-dd', day)
    .option('--to <day>', 'last day, yyyy-MM-dd', day)
    .option('--user <username>', 'only what this user did')
    .option('--action <action>', 'only this, such as CHANNEL_CHANGED')
    .option('--channel <code>', 'only what concerns this channel')
    .option('--search <words>', 'only entries with all of these words')
    .action(async (options) => (await import('./audit.ts')).exportTrail(options))
  audit
    .command('key')
    .description('print the public key that the trail is signed with, as PEM')
    .action(async () => (await import('./audit.ts')).printKey())
}

function addKeyCommands(program: Command): void {
  const keys = program.command('keys').description('RSA keys of channels and what partners propose')
  keys
    .command('generate')
    .description('make an RSA key and a self-signed certificate, as PEM')
    .requiredOption('--name <name>', 'common name of the certificate')
    .option('--bits <n>', 'length of the key', count, 3072)
    .option('--days <n>', 'how long the certificate is valid', count, 3650)
    .option('--key <file>', 'write the key there (mode 0600) instead of printing it')
    .option('--cert <file>', 'write the certificate there instead of printing it')
    .action(async (options) => (await import('./keys.ts')).generateKey(options))
  keys
    .command('list')
    .description('print the keys that partners have sent')
    .option('--contact <id>', 'only those of this contact')
    .option('--json', 'as JSON')
    .action(async (options) => (await import('./keys.ts')).listKeys(options))
  keys
    .command('accept <id>')
    .description('use a key that a partner has sent, on all channels of that partner')
    .option(
      '--fingerprint <sha256>',
      'what the partner has told over another line: accepted only if it is the same',
    )
    .action(async (id: string, options) => (await import('./keys.ts')).acceptKey(id, options))
  keys
    .command('refuse <id>')
    .description('say no to a key that a partner has sent: it can no longer be accepted')
    .action(async (id: string) => (await import('./keys.ts')).refuseKey(id))
  addRotateCommands(keys)
}
