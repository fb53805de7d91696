// What the engine and its hash threads say to each other. A piece's memory is handed over with it, and comes back.

import type { Digest } from '../transports/transport.ts'

export type ToHashThread =
  | { kind: 'begin'; id: number; digests: readonly Digest[] }
  | { kind: 'piece'; id: number; memory: ArrayBuffer; length: number }
  | { kind: 'end'; id: number }
  | { kind: 'forget'; id: number }

export type FromHashThread =
  | { kind: 'piece done'; id: number; memory: ArrayBuffer }
  | { kind: 'hashed'; id: number; hex: string[] }
