// Writes the parts of the docs that are tables of the code: errors, settings, operations. `node tools/docs.ts` writes
// them; a test compares them with what this makes, so they cannot go stale.

import { writeFileSync } from 'node:fs'
import { STATUS_CODES } from 'node:http'
import { SETTINGS } from '../src/config.ts'
import { CONDITIONS, EVERYWHERE, OTHER_CODES } from '../src/contract/conditions.ts'
import { BASE_PATH, operations } from '../src/contract/operations.ts'
import type { Operation } from '../src/contract/operations.ts'
import { COLUMNS, FIELD_EFFECTS } from '../src/domain/fields/effects.ts'
import type { FieldEffect } from '../src/domain/fields/effects.ts'
import { ERROR_CODES } from '../src/errors.ts'

const EXITS = ['done', 'failed', 'wrong use', 'refused by the node', 'not reachable']

export const generated: Record<string, () => string> = {
  'errors.md': errors,
  'settings.md': settings,
  'operations.md': operationsTable,
  'fields.md': fields,
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

function errors(): string {
  const rows = Object.entries(ERROR_CODES).map(([code, { status, retry, exit, means }]) => [
    `\`${code}\``,
    means,
    status === 500 && !['internal'].includes(code) ? '—' : `${status} ${STATUS_CODES[status] ?? ''}`,
    retry ? 'yes' : 'no',
    `${exit} (${EXITS[exit]})`,
  ])
  return `# Errors

Every error of the node has one of these codes. The code decides the HTTP status, whether the engine tries again by
itself (within the channel’s \`retries\`), and the exit code of the command line. Codes without a status end transfers
or commands and never a request; on a transfer the message stands in its \`error\` field.

${table(['code', 'what it means', 'HTTP', 'tried again', 'exit code'], rows)}
`
}

const CALLERS: Record<(typeof COLUMNS)[number], string> = {
  'oftp2 local': 'OFTP2, this node calls',
  'oftp2 remote': 'OFTP2, the partner calls',
  'sftp local': 'SFTP, this node calls',
  'sftp remote': 'SFTP, the partner calls',
  folder: 'folder',
}

function fields(): string {
  const reasons: string[] = []
  const mark = (cell: FieldEffect['cells']['folder']) => {
    if (typeof cell === 'string') return cell
    if (!reasons.includes(cell.warned)) reasons.push(cell.warned)
    return `warned (${reasons.indexOf(cell.warned) + 1})`
  }
  const rows = FIELD_EFFECTS.map(({ field, values, cells }) => [
    `\`${field}\`${values === undefined ? '' : ` ${values}`}`,
    ...COLUMNS.map((column) => mark(cells[column])),
  ])
  return `# What every channel field does, protocol by protocol

A field acts, is a label, or is warned about: \`check\`, \`apply\` and the platform operations (\`warnings\` of a change, and of
\`GET /platform/v1/channels/{channelCode}\` after an update through the interface) name it and say why, in the same words.
The answer of an update names the first of them in its header \`Warning\`, about 2 KiB at most.
None is silently without effect. Where either end may call, a field is warned about only if it does nothing whoever calls.
So are values that do nothing or cannot work beside others (\`ciphrate\` while \`cryptography\` is not true, a signature
without its key, a translation without an alphabet, records longer than the protocol carries), and \`users\` who do not exist.
A value that is wrong everywhere (a path outside the roots, a key that is not RSA) is refused by all of them.
What acts is proven by transfers over each of these lines, with the field and without (\`test/fields\`).

${table(['field', ...COLUMNS.map((column) => CALLERS[column])], rows)}

The reasons:

${reasons.map((reason, index) => `${index + 1}. ${reason}`).join('\n')}

Also warned about: \`validationHashFiles\` false beside \`crc\` true, because either of the two switches the one comparison of hashes on.
`
}

function settings(): string {
  const rows = Object.entries(SETTINGS).map(([name, [byDefault, meaning]]) => [
    `\`${name}\``,
    byDefault,
    meaning,
  ])
  return `# Settings

All of them are environment variables and all are optional. A wrong value, or a name that is not in this table, stops
the node at once with the name and what it should be.

${table(['name', 'default', 'meaning'], rows)}

The client commands read three more: \`ESCLUSA_URL\` (which node, default http://127.0.0.1:8080), \`ESCLUSA_TOKEN\`
and \`ESCLUSA_PASSWORD\` (for \`login\` and \`user\`, instead of a prompt).
`
}

function who(roles: readonly string[], auth: string | undefined): string {
  return `${roles.map((role) => role.replace('ROLE_', '')).join(', ')}${auth ? ` with \`${auth}\`` : ''}`
}

function conditions(): string[][] {
  return Object.entries(CONDITIONS).flatMap(([name, codes]) =>
    Object.entries(codes).map(([code, when]) => [`\`${name}\``, code, when ?? '']),
  )
}

function operationsTable(): string {
  const rows = (Object.entries(operations) as [string, Operation][]).map(
    ([name, { number, method, path, summary, roles, auth, inPart, codes }]) => [
      String(number),
      `\`${method} ${path}\``,
      `\`${name}\``,
      summary,
      roles === 'public'
        ? 'anyone'
        : `${who(roles, auth)}${inPart ? `; for ${inPart.of} ${who(inPart.roles, inPart.auth)}` : ''}`,
      codes.join(' '),
    ],
  )
  return `# The 17 operations

All paths are under \`${BASE_PATH}\`. A running node shows the full reference, every field included, at
\`${BASE_PATH}/docs\`, and the OpenAPI document at \`${BASE_PATH}/openapi.json\` (3.1) and \`${BASE_PATH}/openapi-3.0.json\`
(3.0.3). [integrate.md](integrate.md) shows how to use them, step by step.

${table(['#', 'path', 'in the client', 'what it does', 'who', 'error codes'], rows)}

## When each code is answered

Everywhere:

${table(['code', 'when'], Object.entries(EVERYWHERE))}

${OTHER_CODES}

And by operation:

${table(['operation', 'code', 'when'], conditions())}
`
}

if (import.meta.main)
  for (const [file, make] of Object.entries(generated))
    writeFileSync(new URL(`../docs/${file}`, import.meta.url), make())
