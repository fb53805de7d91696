// Meters: steps that let bytes through untouched and know, once the stream has ended, how many there were and what
// they hash to. A meter serves one stream; before its end `hex` is undefined, and a stream cut short never has one.

import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Step } from './step.ts'

export interface Meter {
  readonly step: Step
  /** Octets seen so far. */
  readonly octets: number
  /** Lower-case hex of the whole stream; undefined until it has ended. */
  readonly hex: string | undefined
}

type Running = { update(chunk: Uint8Array): void; hex(): string }

export function sha256Meter(): Meter {
  return digestMeter('sha256')
}

export function digestMeter(digest: 'sha1' | 'sha256' | 'sha512'): Meter {
  const hash = createHash(digest)
  return meter({ update: (chunk) => hash.update(chunk), hex: () => hash.digest('hex') })
}

/** CRC-32 as in gzip and zip (polynomial 0x04C11DB7, reflected). */
export function crc32Meter(): Meter {
  let crc = 0
  return meter({
    update: (chunk) => {
      crc = crc32(chunk, crc)
    },
    hex: () => crc.toString(16).padStart(8, '0'),
  })
}

function meter(running: Running): Meter {
  let octets = 0
  let hex: string | undefined
  return {
    step: async function* metered(source) {
      for await (const chunk of source) {
        running.update(chunk)
        octets += chunk.length
        yield chunk
      }
      hex = running.hex()
    },
    get octets() {
      return octets
    },
    get hex() {
      return hex
    },
  }
}
