// Free ports on loopback, counted up from the one asked for. The system is not asked for any: a port that it gives may
// be somebody's outgoing connection a moment later.

import { createServer } from 'node:net'

/** The first so many that are free. */
export async function freePorts(from: number, count: number): Promise<number[]> {
  const found: number[] = []
  for (let port = from; found.length < count && port < 65_536; port++)
    if (await isFree(port)) found.push(port)
  return found
}

function isFree(port: number): Promise<boolean> {
  return new Promise((done) => {
    const server = createServer()
    server.once('error', () => done(false))
    server.listen(port, '127.0.0.1', () => server.close(() => done(true)))
  })
}
