// File systems of a test's own, mounted at a folder: small ones for full disks. Where mounting is not allowed such tests are
// skipped and say so.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { statfsSync, writeFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { closeAfter } from './harness.ts'

const probe = spawnSync('sh', [
  '-c',
  'd=$(mktemp -d) && mount -t tmpfs -o size=64k tmpfs "$d" && umount "$d" && rmdir "$d"',
])
export const skipWithoutMount =
  probe.status === 0 ? false : 'SKIPPED: no file system may be mounted here (not root)'

export async function mount(t: TestContext, folder: string, options: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  const made = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder])
  assert.equal(made.status, 0, made.stderr.toString())
  closeAfter(t, async () => void spawnSync('umount', ['-l', folder]))
}

export function remount(folder: string, options: string): void {
  const done = spawnSync('mount', ['-o', `remount,${options}`, folder])
  assert.equal(done.status, 0, done.stderr.toString())
}

/** A megabyte and no more: what is left after `used` octets. */
export async function smallDisk(t: TestContext, folder: string, used = 0): Promise<void> {
  await mount(t, folder, 'size=1m')
  if (used > 0) await writeFile(join(folder, '.used'), Buffer.alloc(used))
}

/** Not an octet is left. */
export function fillUp(folder: string): void {
  const { bavail, bsize } = statfsSync(folder)
  writeFileSync(join(folder, 'fill'), Buffer.alloc(bavail * bsize))
}
