// Load from a process of its own: keep-alive connections that each send the next request when the last answer is
// complete. Raw sockets, because Node's HTTP client costs more than the servers measured here and would hide them.
//
//   node bench/load.ts '{"host":"127.0.0.1","port":8080,"path":"/","token":"…","connections":32,"seconds":3}'

import { createConnection } from 'node:net'
import { performance } from 'node:perf_hooks'

export type Load = {
  host: string
  port: number
  path: string
  token?: string
  connections: number
  seconds: number
}
export type LoadResult = { perSecond: number; p50Ms: number; p99Ms: number; requests: number; errors: number }

async function run(load: Load): Promise<LoadResult> {
  const head = [
    `GET ${load.path} HTTP/1.1`,
    `Host: ${load.host}`,
    ...(load.token ? [`Authorization: Bearer ${load.token}`] : []),
  ]
  const request = Buffer.from(`${head.join('\r\n')}\r\n\r\n`)
  const times: number[] = []
  let errors = 0
  const startedAt = performance.now()
  const endsAt = startedAt + load.seconds * 1000

  function connection(): Promise<void> {
    return new Promise((resolve, reject) => {
      const socket = createConnection({ host: load.host, port: load.port, noDelay: true })
      let sentAt = 0
      let left = -1
      const send = () => {
        sentAt = performance.now()
        left = -1
        socket.write(request)
      }
      socket.on('connect', send)
      socket.on('error', reject)
      socket.on('close', () => resolve())
      socket.on('data', (bytes: Buffer) => {
        if (left < 0) {
          const text = bytes.toString('latin1', 0, Math.min(bytes.length, 1024))
          const bodyAt = text.indexOf('\r\n\r\n') + 4
          const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
          if (!text.startsWith('HTTP/1.1 200')) errors++
          left = length - (bytes.length - bodyAt)
        } else left -= bytes.length
        if (left > 0) return
        const now = performance.now()
        times.push(now - sentAt)
        if (now < endsAt) send()
        else socket.end()
      })
    })
  }

  await Promise.all(Array.from({ length: load.connections }, connection))
  const seconds = (performance.now() - startedAt) / 1000
  times.sort((a, b) => a - b)
  const at = (part: number) => times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0
  return {
    perSecond: times.length / seconds,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    requests: times.length,
    errors,
  }
}

const result = await run(JSON.parse(process.argv[2] ?? '{}') as Load) // written by the benchmark beside this file
process.stdout.write(JSON.stringify(result))
