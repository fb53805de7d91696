// The console's cookie: out of reach of scripts, sent to this host's own pages alone. Cookies do not tell ports apart, so
// its name does: two nodes on one machine do not sign each other out.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { BASE_PATH } from '../../contract/operations.ts'

const NAME = 'esclusa_session'
const MOST_LOOKED_AT = 8

/** Every secret that the browser sends: one may be of another node. */
export function sessionSecrets(header: string | undefined): string[] {
  if (header === undefined) return []
  return header
    .split(';')
    .map((pair) => /^\s*esclusa_session(?:_\d+)?=([A-Za-z0-9_-]{43})\s*$/.exec(pair)?.[1])
    .filter((secret) => secret !== undefined)
    .slice(0, MOST_LOOKED_AT)
}

/** What the cookie holds that this answer would replace. */
export function replacedSecret(request: FastifyRequest): string | undefined {
  const own = `${nameFor(request)}=`
  const pairs = request.headers.cookie?.split(';').map((pair) => pair.trim()) ?? []
  return sessionSecrets(pairs.find((pair) => pair.startsWith(own)))[0]
}

export function setSessionCookie(
  request: FastifyRequest,
  reply: FastifyReply,
  secret: string,
  seconds: number,
): void {
  const secure = request.protocol === 'https' ? '; Secure' : ''
  const value = `${nameFor(request)}=${secret}; Path=${BASE_PATH}; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`
  void reply.header('Set-Cookie', value)
}

export function clearSessionCookie(request: FastifyRequest, reply: FastifyReply): void {
  setSessionCookie(request, reply, '', 0)
}

function nameFor({ port }: FastifyRequest): string {
  return port ? `${NAME}_${port}` : NAME
}
