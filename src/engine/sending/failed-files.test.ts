import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NodeError, fromFileError, naming } from '../../errors.ts'
import type { ErrorCode } from '../../errors.ts'
import { translate } from '../../store/database/driver-errors.ts'
import { FailedFiles } from './failed-files.ts'

const badBlock = Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' })

test('a file that the disk cannot read holds up no other, whoever has named it', () => {
  const read = fromFileError(badBlock, '/out/a.txt')
  for (const thrown of [read, naming(fromFileError(badBlock, '/staged/0-1'), 'a.txt')]) {
    const failed = new FailedFiles()
    failed.add({ name: 'a.txt' }, thrown)
    assert.equal(failed.signal.aborted, false)
    assert.match(failed.failure()?.message ?? '', /a\.txt/)
  }
})

test('a fault of the node, and one that ended the session, end the attempt', () => {
  const failed = new FailedFiles()
  failed.add({ name: 'a.txt' }, new NodeError('internal', 'an end without a file'))
  assert.equal(failed.signal.aborted, true)
  const cut = new FailedFiles()
  cut.add({ name: 'a.txt' }, fromFileError(badBlock, '/out/a.txt'), true)
  assert.equal(cut.signal.aborted, true)
})

test('faults that are surely the files’ own never end the attempt, others do after ten where none has gone', () => {
  const added = (code: ErrorCode, count: number) => {
    const failed = new FailedFiles()
    for (let at = 0; at < count; at++) failed.add({ name: `${at}.txt` }, new NodeError(code, `${at}.txt`))
    return failed
  }
  for (const code of ['name_taken', 'file_changed', 'file_missing', 'no_rights'] as const)
    assert.equal(added(code, 100).signal.aborted, false, code)
  assert.match(added('name_taken', 100).failure()?.message ?? '', /^0\.txt \(and 99 more files\)$/)
  for (const code of ['remote_refused', 'script_failed', 'file_refused'] as const) {
    assert.equal(added(code, 9).signal.aborted, false, code)
    const failed = added(code, 10)
    assert.equal(failed.signal.aborted, true, code)
    assert.equal(failed.cut.aborted, false, 'those under way may finish')
  }
  const broken = added('connection_lost', 1)
  assert.deepEqual([broken.signal.aborted, broken.cut.aborted], [true, true])
})

const noRoom = () => new NodeError('no_space', 'quota exceeded')

test('a file without room at the partner holds up no other, and can be tried again', () => {
  const failed = new FailedFiles()
  failed.add({ name: 'large.bin' }, noRoom())
  assert.equal(failed.signal.aborted, false)
  assert.deepEqual([failed.failure()?.code, failed.failure()?.retry], ['no_space', true])
})

test('ten in a row without room end the attempt, also after others have gone', () => {
  const failed = new FailedFiles()
  for (let at = 0; at < 9; at++) failed.add({ name: `large-${at}` }, noRoom())
  failed.oneHasGone()
  for (let at = 0; at < 9; at++) failed.add({ name: `more-${at}` }, noRoom())
  assert.equal(failed.signal.aborted, false)
  failed.add({ name: 'tenth' }, noRoom())
  assert.equal(failed.signal.aborted, true)
})

test('the full disk of our own database ends the attempt, whoever has named the file', () => {
  const full = translate(Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' }))
  for (const thrown of [full, naming(full, 'a.txt')]) {
    const failed = new FailedFiles()
    failed.add({ name: 'a.txt' }, thrown)
    assert.equal(failed.signal.aborted, true)
  }
})
