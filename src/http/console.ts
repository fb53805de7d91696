// The web console at /console: the files of its build in console/dist, held in memory. Their names contain a hash of
// their content, so browsers may keep them for ever. The page itself is never kept. Every path that is not a file
// answers with the page: the console routes by the path.
//
// The page may load scripts, styles and data from this host only, and may not be framed. Its component library adds a
// few style elements; a nonce, new for every page, allows them.

import type { FastifyInstance, FastifyReply } from 'fastify'
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { extname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { NodeError } from '../errors.ts'
import { fromRoot } from '../root.ts'

const DIST = fileURLToPath(fromRoot('console/dist/'))
const NONCE = '__CSP_NONCE__'
const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
}

type Asset = { type: string; body: Buffer; br?: Buffer; gzip?: Buffer }
type Build = { builtAt: number; page: string; assets: ReadonlyMap<string, Asset> }

export function addConsoleRoutes(app: FastifyInstance, dist = DIST): void {
  app.get('/', (_request, reply) => reply.redirect('/console/', 302))
  app.get('/console', (_request, reply) => reply.redirect('/console/', 302))
  app.get<{ Params: { '*': string } }>('/console/*', (request, reply) => {
    const path = request.params['*']
    const asset = currentBuild(dist)?.assets.get(path)
    if (asset) return sendAsset(reply, path, asset, request.headers['accept-encoding'])
    if (extname(path) !== '' && path.startsWith('assets/'))
      throw new NodeError('not_found', `the console has no file ${path}`)
    return sendConsole(reply, dist)
  })
}

/** The page, which says itself what there is at its path. */
export function sendConsole(reply: FastifyReply, dist = DIST): FastifyReply {
  const build = currentBuild(dist)
  return build ? sendPage(reply, build.page) : sendPage(reply.code(503), NOT_BUILT)
}

/** By their folders: all nodes of a process serve the same. */
const builds = new Map<string, Build>()

/** Reads the build when first needed, and again when there is a new one. */
function currentBuild(dist: string): Build | undefined {
  const found = statSync(join(dist, 'index.html'), { throwIfNoEntry: false })
  if (!found) return undefined
  const known = builds.get(dist)
  if (known?.builtAt === found.mtimeMs) return known
  const build = readBuild(dist, found.mtimeMs)
  builds.set(dist, build)
  return build
}

function readBuild(dist: string, builtAt: number): Build {
  const assets = new Map<string, Asset>()
  for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
    const path = relative(dist, join(entry.parentPath, entry.name))
    const type = TYPES[extname(path)]
    if (entry.isFile() && type && path !== 'index.html')
      assets.set(path, { type, body: readFileSync(join(dist, path)) })
  }
  return { builtAt, page: readFileSync(join(dist, 'index.html'), 'utf8'), assets }
}

function sendPage(reply: FastifyReply, page: string): FastifyReply {
  const nonce = randomBytes(16).toString('base64')
  return secured(reply)
    .header('Content-Security-Policy', policy(nonce))
    .header('Cache-Control', 'no-store')
    .type(TYPES['.html'] ?? '')
    .send(page.replaceAll(NONCE, nonce))
}

function policy(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "connect-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
}

function secured(reply: FastifyReply): FastifyReply {
  return reply
    .header('X-Content-Type-Options', 'nosniff')
    .header('Referrer-Policy', 'no-referrer')
    .header('Cross-Origin-Opener-Policy', 'same-origin')
}

/** Compressed when first asked for, so that a start costs nothing. */
function sendAsset(reply: FastifyReply, path: string, asset: Asset, accepts = ''): FastifyReply {
  void secured(reply)
    .type(asset.type)
    .header('Cache-Control', path.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache')
    .header('Vary', 'Accept-Encoding')
  const isText = /text|svg/.test(asset.type)
  if (isText && /\bbr\b/.test(accepts))
    return reply.header('Content-Encoding', 'br').send((asset.br ??= brotli(asset.body)))
  if (isText && /\bgzip\b/.test(accepts))
    return reply.header('Content-Encoding', 'gzip').send((asset.gzip ??= gzipSync(asset.body)))
  return reply.send(asset.body)
}

// Quality 6 is within 5 % of the best and takes a tenth of its time. This thread spends it once per file.
function brotli(body: Buffer): Buffer {
  return brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } })
}

const NOT_BUILT = `<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>Esclusa console</title>
<style nonce="${NONCE}">:root { color-scheme: light dark; font: 16px/1.6 system-ui, sans-serif } main { max-width: 36rem; margin: 15vh auto; padding: 1rem } code { padding: .2em .4em; border: 1px solid #8886; border-radius: 4px }</style>
</head><body><main><h1>The console is not built yet</h1>
<p>The node runs; only the files of its web console are missing. Build them once, in the project’s folder:</p>
<p><code>npm run build -w @esclusa/console</code></p><p>Then load this page again; the node need not be restarted.</p>
</main></body></html>`
