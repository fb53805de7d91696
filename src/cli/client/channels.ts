// `esclusa channels`, `configuration`, `update`, `status` and `history`.

import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { collect, pages } from '../../../sdk/index.ts'
import type { ChannelHistory, ChannelPatch, ChannelSummary, Client } from '../../../sdk/index.ts'
import { fromFileError, NodeError } from '../../errors.ts'
import { withNode } from './connect.ts'
import type { ClientFlags } from './connect.ts'
import type { ListFlags } from './contacts.ts'
import { remark, remarkPage, say, sayJson, sayTable, when } from '../print.ts'
import { isObject } from '../../json.ts'

/** JSON shows the interface's own list. The table comes from the platform's list, which has codes and statuses. */
export async function channels(options: ListFlags & { contact?: string }): Promise<void> {
  const { page, size, contact } = options
  const filter = contact === undefined ? {} : { contactId: contact }
  await withNode(options, async (client) => {
    if (options.json)
      return sayJson(
        options.all
          ? await collect(pages(client.listChannels, filter))
          : await client.listChannels({ ...filter, page, size }),
      )
    if (options.all) return sayChannels(await collect(pages(client.platform.searchChannels, filter)))
    const answer = await client.platform.searchChannels({ ...filter, page, size })
    sayChannels(answer.content)
    remarkPage(answer)
  })
}

function sayChannels(all: readonly ChannelSummary[]): void {
  const rows = all.map((channel) => ({
    CODE: channel.code,
    STATUS: channel.status,
    DIRECTION: channel.direction,
    CONTACT: channel.contactId,
    NAME: channel.name,
    'AUTOMATION WAITS UNTIL': when(channel.automaticPauseUntil),
  }))
  sayTable(rows, 'there is no channel')
}

export async function configuration(channelCode: string, options: ClientFlags): Promise<void> {
  await withNode(options, async (client) => {
    const answer = await client.channelConfiguration({ channelCode })
    if (options.json) return sayJson(answer)
    for (const channel of answer) sayTable(fieldsOf(channel), 'nothing is configured')
  })
}

type Field = { FIELD: string; VALUE: string }

function fieldsOf(value: unknown, name = ''): Field[] {
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object'))
    return [{ FIELD: name, VALUE: value.join(', ') }]
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([key, field]) =>
      fieldsOf(field, name === '' ? key : `${name}.${key}`),
    )
  return [{ FIELD: name, VALUE: shortened(String(value)) }]
}

/** Keys are long. Their first line says what they are. */
function shortened(text: string): string {
  const [first = '', ...more] = text.split('\n')
  return more.length > 0 ? `${first} …` : first
}

export async function update(
  channelCode: string,
  file: string | undefined,
  options: ClientFlags,
): Promise<void> {
  const body = parse(file === undefined || file === '-' ? await text(process.stdin) : read(file))
  await withNode(options, async (client) => {
    const changed = await client.updateChannel({ channelCode, body })
    if (options.json) sayJson(changed)
    else say(`~ channel ${channelCode} (${Object.keys(body).join(', ') || 'nothing'})`)
  })
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (thrown) {
    throw new NodeError('bad_use', fromFileError(thrown, file).message, { cause: thrown })
  }
}

function parse(json: string): ChannelPatch {
  try {
    const value: unknown = JSON.parse(json)
    if (isObject(value)) return value // the node checks the rest
  } catch (cause) {
    throw new NodeError('bad_use', 'the update is not well-formed JSON', { cause })
  }
  throw new NodeError('bad_use', 'the update must be a JSON object of channel fields')
}

export async function status(channelCode: string, options: ClientFlags): Promise<void> {
  await withNode(options, async (client) => {
    const answer = await client.channelStatus({ channelCode })
    if (options.json) return sayJson(answer)
    sayStatus(answer)
    const { automaticPause: pause } = await client.platform.channelSetup({ channelCode })
    if (!pause) return
    const why = pause.error === undefined ? '' : `: ${pause.error}`
    const failures =
      pause.failures === 1 ? 'a failed emission' : `${pause.failures} failed emissions in a row`
    remark(
      `automation waits until ${when(pause.until)}, after ${failures}${why} (esclusa retry or reset ends it)`,
    )
  })
}

export function sayStatus(all: Awaited<ReturnType<Client['channelStatus']>>): void {
  const rows = all.map((one) => ({
    CHANNEL: one['channel-code'],
    STATUS: one['channel-status'],
    DIRECTION: one['channel-direction'],
    ID: one['channel-id'],
  }))
  sayTable(rows, 'there is no channel')
}

export async function history(channelCode: string, options: ListFlags): Promise<void> {
  const { page, size } = options
  await withNode(options, async (client) => {
    if (options.all) {
      const all = await collect(pages(client.channelHistory, { channelCode }))
      return options.json ? sayJson(all) : sayHistory(all)
    }
    const answer = await client.channelHistory({ channelCode, page, size })
    if (options.json) return sayJson(answer)
    sayHistory(answer.content)
    remarkPage(answer)
  })
}

function sayHistory(all: readonly ChannelHistory[]): void {
  sayTable(
    all.map(({ datetime, event }) => ({ TIME: when(datetime), EVENT: event })),
    'the channel has no history',
  )
}
