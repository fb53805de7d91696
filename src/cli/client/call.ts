// `esclusa call`: every operation of the node by its name, for what has no command of its own. Parameters are given as
// name=value, a body as a JSON file; the answer is printed as it came.

import { readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import type { Client } from '../../../sdk/index.ts'
import { operations } from '../../contract/operations.ts'
import type { Operation } from '../../contract/operations.ts'
import { platformOperations } from '../../contract/platform.ts'
import { fromFileError, NodeError } from '../../errors.ts'
import { sayJson, sayTable } from '../print.ts'
import { withNode } from './connect.ts'
import type { ClientFlags } from './connect.ts'

const TABLE: Record<string, Operation> = { ...operations, ...platformOperations }
const ANSWER_MS = 3_600_000

export type CallFlags = ClientFlags & { body?: string; ifMatch?: string }

export async function call(
  name: string | undefined,
  given: readonly string[],
  options: CallFlags,
): Promise<void> {
  if (name === undefined) return sayOperations()
  const operation = TABLE[name]
  if (!operation)
    throw new NodeError('bad_use', `there is no operation ${name}: \`esclusa call\` alone lists them`)
  if (operation.consumes) throw new NodeError('bad_use', `${name} takes a file: use \`esclusa upload\``)
  const input = { ...parametersOf(name, operation, given), ...(await bodyOf(name, operation, options.body)) }
  await withNode(options, async (client) => {
    const answer = await functionOf(client, name)(input, {
      timeoutMs: ANSWER_MS,
      ...(options.ifMatch !== undefined && { ifMatch: options.ifMatch }),
    })
    if (!(answer instanceof Response)) return sayJson(answer)
    // The same stream by two declarations: the browser's and Node's.
    if (answer.body)
      await pipeline(Readable.fromWeb(answer.body as ReadableStream<Uint8Array>), process.stdout, {
        end: false,
      })
  })
}

type Asked = (input: object, options: object) => Promise<unknown>

/** The client has a function for every name of the two tables. */
function functionOf({ platform, ...client }: Client, name: string): Asked {
  const calls = { ...platform, ...client } as unknown as Record<string, Asked | undefined>
  const found = calls[name]
  if (!found) throw new NodeError('bad_use', `there is no operation ${name}`)
  return found
}

function namesOf(schema: unknown): string[] {
  const { properties } = (schema ?? {}) as { properties?: object }
  return Object.keys(properties ?? {})
}

function parametersOf(name: string, operation: Operation, given: readonly string[]): Record<string, string> {
  const known = [...namesOf(operation.params), ...namesOf(operation.query)]
  const found = given.map((pair): [string, string] => {
    const at = pair.indexOf('=')
    const key = pair.slice(0, at)
    if (at < 1 || !known.includes(key))
      throw new NodeError(
        'bad_use',
        `"${pair}" is no parameter of ${name}: give ${known.map((one) => `${one}=…`).join(' ') || 'none'}`,
      )
    return [key, pair.slice(at + 1)]
  })
  const missing = namesOf(operation.params).filter((one) => !found.some(([key]) => key === one))
  if (missing.length > 0)
    throw new NodeError('bad_use', `${name} needs ${missing.map((one) => `${one}=…`).join(' ')}`)
  return Object.fromEntries(found)
}

async function bodyOf(
  name: string,
  operation: Operation,
  file: string | undefined,
): Promise<{ body?: unknown }> {
  if (!operation.body) {
    if (file !== undefined) throw new NodeError('bad_use', `${name} takes no body`)
    return {}
  }
  if (file === undefined)
    throw new NodeError(
      'bad_use',
      `${name} needs --body: a JSON file, - for standard input, or the JSON itself`,
    )
  const json =
    file === '-'
      ? await text(process.stdin)
      : /^\s*[[{]/.test(file)
        ? file
        : await readFile(file, 'utf8').catch((thrown: unknown) => {
            throw fromFileError(thrown, file)
          })
  try {
    return { body: JSON.parse(json) as unknown } // the node checks it
  } catch (cause) {
    throw new NodeError('bad_use', `${file === '-' ? 'the body' : file} is not well-formed JSON`, { cause })
  }
}

function sayOperations(): void {
  const rows = Object.entries(TABLE).map(([name, { params, query, body, summary }]) => ({
    OPERATION: name,
    PARAMETERS: [
      ...namesOf(params),
      ...namesOf(query).map((one) => `[${one}]`),
      ...(body ? ['--body'] : []),
    ].join(' '),
    DOES: summary,
  }))
  sayTable(rows, '')
}
