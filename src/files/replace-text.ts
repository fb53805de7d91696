// A small file of the node's own that is there whole, under its name, or not at all, and stays so.

import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

/** In place of whatever has that name: a file or a link that somebody else has put there is not written to. */
export function replaceText(path: string, text: string): void {
  const draft = `${path}.${process.pid}`
  rmSync(draft, { force: true })
  const file = openSync(draft, 'wx', 0o600)
  writeSync(file, text)
  fsyncSync(file)
  closeSync(file)
  renameSync(draft, path)
  const folder = openSync(dirname(path), 'r')
  fsyncSync(folder)
  closeSync(folder)
}
