// A small file of the node's own that is there whole, under its name, or not at all, and stays so.

import { closeSync, fsyncSync, linkSync, openSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import { systemCode } from '../errors.ts'
import { writeAll } from './small/new-file.ts'

/** In place of whatever has that name: a file or a link that somebody else has put there is not written to. */
export function replaceText(path: string, text: string): void {
  throughDraft(path, text, (draft) => renameSync(draft, path))
  syncNames(dirname(path))
}

/** Unless somebody was first, as of two processes that start together one is. Gives what stands there now. */
export function keepFirst(path: string, text: string): string {
  throughDraft(path, text, (draft) => {
    try {
      linkSync(draft, path)
    } catch (thrown) {
      const code = systemCode(thrown)
      if (code === 'EEXIST') return
      // Without hard links both may think that they were first, for as long as neither starts again.
      if (code !== 'EPERM' && code !== 'ENOTSUP') throw thrown
      renameSync(draft, path)
    }
  })
  syncNames(dirname(path))
  return readFileSync(path, 'utf8')
}

/** Undefined where there is none. */
export function textAt(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (thrown) {
    if (systemCode(thrown) === 'ENOENT') return undefined
    throw thrown
  }
}

/**
 * The text is on the disk, under another name, when `place` is called. Whatever fails, nothing stays open and no draft is left:
 * on a full disk the same is tried again and again.
 */
export function throughDraft(path: string, text: string, place: (draft: string) => void): void {
  // Nodes in containers, which may share the folder, often have the same process number.
  const draft = `${path}.${hostname()}.${process.pid}`
  rmSync(draft, { force: true })
  try {
    const file = openSync(draft, 'wx', 0o600)
    try {
      writeAll(file, Buffer.from(text))
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    place(draft)
  } finally {
    rmSync(draft, { force: true })
  }
}

/** `syncFolder` for whoever cannot wait for it. */
function syncNames(folder: string): void {
  const names = openSync(folder, 'r')
  try {
    fsyncSync(names)
  } finally {
    closeSync(names)
  }
}
