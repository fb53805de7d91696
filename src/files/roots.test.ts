import assert from 'node:assert/strict'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { tempFolder } from '../../test/support/harness.ts'
import { SCRIPT_FIELDS } from '../contract/channel.ts'
import { checkPathExists, confined, diskFaults, fixedPart, requireConfined } from './roots.ts'

async function place(t: TestContext) {
  const folder = await tempFolder(t)
  const root = join(folder, 'root')
  const outside = join(folder, 'outside')
  await mkdir(join(root, 'in'), { recursive: true })
  await mkdir(outside)
  await writeFile(join(outside, 'secret.txt'), 'x')
  await writeFile(join(root, 'file.txt'), 'x')
  await symlink(outside, join(root, 'way-out'))
  await symlink(join(root, 'in'), join(root, 'inner-link'))
  await symlink(join(folder, 'nowhere'), join(root, 'dangling'))
  return { root, outside, roots: { fileRoots: [root], scriptRoots: [] } }
}

test('the fixed part of a glob ends before its first special step', () => {
  assert.equal(fixedPart('/a/b/*.txt'), '/a/b')
  assert.equal(fixedPart('/a/{b,c}/d'), '/a')
  assert.equal(fixedPart('/a/b'), '/a/b')
  assert.equal(fixedPart('/*'), '/')
})

test('a path that a link leads out of the roots is not confined, one that a link keeps inside is', async (t) => {
  const { root, outside } = await place(t)
  assert.equal(confined(join(root, 'in'), [root]), join(root, 'in'))
  assert.equal(confined(join(root, 'new', 'deeper'), [root]), join(root, 'new', 'deeper'))
  assert.equal(confined(join(root, 'inner-link', 'x'), [root]), join(root, 'in', 'x'))
  assert.equal(confined(join(root, 'way-out'), [root]), undefined)
  assert.equal(confined(join(root, 'way-out', 'not-there'), [root]), undefined)
  assert.equal(confined(join(root, 'dangling'), [root]), undefined)
  assert.equal(confined(join(root, 'dangling', 'x'), [root]), undefined)
  assert.equal(confined(outside, [root]), undefined)
  assert.throws(() => requireConfined(join(root, 'way-out'), [root]), /leads out/)
})

test('faults of the disk name the field whose path leads out', async (t) => {
  const { root, roots } = await place(t)
  const channel = {
    directories: [{ filePath: join(root, 'in') }, { filePath: join(root, 'way-out', '*.txt') }, {}],
    integrations: { postEmisionDirectory: join(root, 'way-out'), postReceptionDirectory: join(root, 'done') },
  }
  assert.deepEqual(
    diskFaults(channel, roots).map((fault) => fault.pointer),
    ['/directories/1/filePath', '/integrations/postEmisionDirectory'],
  )
})

test('a script must not be led out of the script roots, whichever field names it', async (t) => {
  const { root } = await place(t)
  const roots = { fileRoots: [], scriptRoots: [root] }
  const all = (path: string) => ({
    integrations: Object.fromEntries(SCRIPT_FIELDS.map((name) => [name, path])),
  })
  const faults = (path: string, of = roots) => diskFaults(all(path), of).map(({ pointer }) => pointer)
  assert.deepEqual(
    faults(join(root, 'way-out', 'secret.txt')),
    SCRIPT_FIELDS.map((name) => `/integrations/${name}`),
  )
  assert.deepEqual(faults(join(root, 'file.txt')), [])
  assert.deepEqual(faults(join(root, 'inner-link', 'not-there-yet')), [])
  assert.deepEqual(faults('/bin/sh', { ...roots, scriptRoots: [] }), [], 'scripts are off: that is told')
})

test('verifyExists takes a directory, and a regular file on the way out only', async (t) => {
  const { root, roots } = await place(t)
  const check = (path: string, way: 'EMISION' | 'RECEPCION') => () =>
    checkPathExists(path, way, roots, '/path')
  check(join(root, 'in'), 'EMISION')()
  check(join(root, 'in'), 'RECEPCION')()
  check(join(root, 'file.txt'), 'EMISION')()
  assert.throws(check(join(root, 'file.txt'), 'RECEPCION'), /\/path must be an existing directory/)
  assert.throws(
    check(join(root, 'nothing'), 'EMISION'),
    /\/path must be an existing directory or regular file/,
  )
  assert.throws(check('/etc', 'EMISION'), /must lie inside/)
})
