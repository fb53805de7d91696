// Passwords: Argon2id, kept in the usual PHC text form. At most a few are computed at once: each takes 19 MiB.

import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

const derive = promisify(argon2)

// OWASP's first recommendation: 19 MiB, two passes, one lane.
const COST = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 }
const AT_ONCE = 4

export async function hashPassword(password: string, cost = COST): Promise<string> {
  const nonce = randomBytes(16)
  return phc(cost, nonce, await compute(password, nonce, cost))
}

/** No password has this hash. Checking against it takes as long as against a real one. */
const NOBODY = phc(COST, Buffer.alloc(16), Buffer.alloc(32))

/** Without a hash (unknown user, no password set) the work is done all the same, and the answer is no. */
export async function verifyPassword(password: string, hash: string | null | undefined): Promise<boolean> {
  const parsed = parse(hash ?? NOBODY) ?? parse(NOBODY)
  if (!parsed) return false
  const tag = await compute(password, parsed.nonce, parsed.cost)
  return timingSafeEqual(tag, parsed.tag) && hash !== null && hash !== undefined
}

export function isPasswordHash(text: string): boolean {
  return parse(text) !== undefined
}

type Cost = typeof COST

function phc({ memory, passes, parallelism }: Cost, nonce: Buffer, tag: Buffer): string {
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${b64(nonce)}$${b64(tag)}`
}

function parse(hash: string): { cost: Cost; nonce: Buffer; tag: Buffer } | undefined {
  const match =
    /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/.exec(hash)
  if (!match) return undefined
  const [, memory, passes, parallelism, nonce = '', tag = ''] = match
  const tagBytes = Buffer.from(tag, 'base64')
  const cost = {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    tagLength: tagBytes.length,
  }
  return { cost, nonce: Buffer.from(nonce, 'base64'), tag: tagBytes }
}

let running = 0
const waiting: (() => void)[] = []

async function compute(password: string, nonce: Buffer, cost: Cost): Promise<Buffer> {
  if (running >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve))
  running++
  try {
    return await derive('argon2id', { message: password, nonce, ...cost })
  } finally {
    running--
    waiting.shift()?.()
  }
}

function b64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
}
