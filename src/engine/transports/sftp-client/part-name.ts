// The temporary names of a file at the partner's end; push.ts says how attempts use them.

import { hash } from 'node:crypto'

import type { Leftover } from '../transport.ts'

import { inFolder } from './settings.ts'

/** A sleeper that wakes so many attempts later, or after somebody has asked for a retry, is not expected. */
export const TURNS = 8

/** Hidden, so that nobody takes it for a file, and the same on every attempt. */
export function stemOf(localId: string, file: Leftover): string {
  const { name, date, time } = file.key
  const identity = JSON.stringify([localId, file.application, file.name, name, date, time])
  return `.esclusa-${hash('sha256', identity).slice(0, 32)}`
}

export function partName(stem: string, turn: number): string {
  return turn === 0 ? `${stem}.part` : `${stem}.${turn}.part`
}

/** Where a file goes, and under which name it is hidden until then. */
export function namesFor(folder: string, localId: string, file: Leftover, turn: number) {
  const stem = inFolder(folder, stemOf(localId, file))
  return { stem, part: partName(stem, turn), target: inFolder(folder, file.name) }
}

export const PART = /^(\.esclusa-[0-9a-f]{32})(\.\d)?\.part$/
