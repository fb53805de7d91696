// Which revision of a thing somebody has read, as ETag and If-Match say it. A caller that says nothing is not held to it:
// the interface knows no revisions.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { createHash } from 'node:crypto'
import { NodeError } from '../errors.ts'
import type { ChannelRecord } from '../store/channels.ts'

/** Stands for a thing as it was read. */
export function tagOf(thing: unknown): string {
  return `"${createHash('sha256').update(JSON.stringify(thing)).digest('base64url').slice(0, 22)}"`
}

export function showTag(reply: FastifyReply, tag: string): void {
  void reply.header('ETag', tag)
}

/** 412 where the caller says which revision it has read and there is another by now; `*` is any that exists. */
export function requireMatch({ headers }: FastifyRequest, tag: string): void {
  const wanted = headers['if-match']
  if (wanted !== undefined && !names(wanted, tag)) throw changedMeanwhile()
}

/** The caller says that it has this revision: it need not be sent again. */
export function isUnchanged({ headers }: FastifyRequest, tag: string): boolean {
  const known = headers['if-none-match']
  return known !== undefined && names(known, tag)
}

function names(header: string, tag: string): boolean {
  if (header.trim() === '*') return true
  const tags = header.split(',').map((one) => one.trim().replace(/^W\//, ''))
  return tags.includes(tag)
}

/** What is put is changed, or made where the caller did not read it before; `If-None-Match: *` only makes it. */
export function requireMatchOrNew(request: FastifyRequest, found: unknown, what: string): void {
  if (found !== undefined && request.headers['if-none-match']?.trim() === '*')
    throw new NodeError('changed_meanwhile', `${what} exists already`)
  if (found !== undefined) return requireMatch(request, tagOf(found))
  if (request.headers['if-match'] !== undefined)
    throw new NodeError('changed_meanwhile', `${what} does not exist any more: somebody has removed it`)
}

export function changedMeanwhile(): NodeError {
  return new NodeError(
    'changed_meanwhile',
    'somebody has changed it since you read it: read it again, then send your change with the new ETag',
  )
}

/** The same tag for a channel's configuration and for what is set up around it. */
export function channelTag({ id, revision }: Pick<ChannelRecord, 'id' | 'revision'>): string {
  return `"${id}.${revision}"`
}
