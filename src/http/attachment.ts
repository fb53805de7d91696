// A file as an answer: kept by the browser, never shown as a page.

import type { FastifyReply } from 'fastify'

export function attachment(reply: FastifyReply, name: string, size: number): FastifyReply {
  return reply
    .type('application/octet-stream')
    .header('Content-Disposition', `attachment; filename*=UTF-8''${encoded(name)}`)
    .header('Content-Length', size)
    .header('Content-Security-Policy', "default-src 'none'; sandbox")
}

/** As RFC 8187 wants it. */
function encoded(name: string): string {
  return encodeURIComponent(name).replaceAll(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16)}`)
}
