// What goes wrong in a long run, one thing after the other and sometimes two at once. The bank lives through all of it
// and is never killed, so that its memory and handles tell whether something leaks.

import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { systemCode } from '../../src/errors.ts'
import type { Random } from '../../test/crash/random.ts'
import type { Line } from './line.ts'
import type { PartyNode } from './party-node.ts'
import { hasFakeClock } from './party-node.ts'

export type World = {
  bank: PartyNode
  partners: readonly PartyNode[]
  lines: readonly Line[]
  /** Nodes whose folders lie on a small disk of their own. */
  onSmallDisks: readonly PartyNode[]
  random: Random
}

export const COUNTS = { cuts: 0, kills: 0, stops: 0, freezes: 0, 'full disks': 0, 'clock jumps': 0 }

/** Seconds. What was ahead by more is waited for as long, which is longer than a run settles. */
const CLOCKS = [-120, -20, -5, 0, 5, 20, 120]

/** Until it is over. */
export async function misfortunes(world: World, over: AbortSignal): Promise<void> {
  const each = [
    repeat(over, world, [3000, 9000], cut),
    repeat(over, world, [12_000, 30_000], killOrStop),
    repeat(over, world, [30_000, 60_000], freeze),
    repeat(over, world, [25_000, 50_000], fillDisk),
    repeat(over, world, [20_000, 40_000], setClock),
  ]
  await Promise.all(each)
}

async function repeat(
  over: AbortSignal,
  world: World,
  [least, most]: [number, number],
  run: (world: World) => void | Promise<void>,
): Promise<void> {
  for (;;) {
    await delay(world.random.between(least, most), undefined, { signal: over }).catch(() => undefined)
    if (over.aborted) return
    await run(world)
  }
}

function cut({ lines, random }: World): void {
  COUNTS.cuts += random.pick(lines).cut()
}

async function killOrStop({ partners, random }: World): Promise<void> {
  const node = random.pick(partners)
  if (random.next() < 0.75) {
    await node.kill()
    COUNTS.kills++
  } else {
    await node.stop()
    COUNTS.stops++
  }
  await delay(random.between(0, 3000))
  await node.start()
}

/** A partner that answers nothing for a while, and a bank that sleeps. */
async function freeze({ bank, partners, random }: World): Promise<void> {
  const node = random.pick([bank, ...partners])
  const thaw = node.freeze()
  COUNTS.freezes++
  await delay(random.between(1000, 8000))
  thaw()
}

async function fillDisk({ onSmallDisks, random }: World): Promise<void> {
  if (onSmallDisks.length === 0) return
  const ballast = join(random.pick(onSmallDisks).home, 'ballast')
  const block = Buffer.alloc(1024 * 1024)
  const file = openSync(ballast, 'w')
  try {
    for (;;) writeSync(file, block)
  } catch (thrown) {
    if (systemCode(thrown) !== 'ENOSPC') throw thrown
  } finally {
    closeSync(file)
  }
  COUNTS['full disks']++
  await delay(random.between(1000, 5000))
  rmSync(ballast)
}

function setClock({ bank, partners, random }: World): void {
  if (!hasFakeClock) return
  random.pick([bank, ...partners]).setClock(random.pick(CLOCKS))
  COUNTS['clock jumps']++
}
