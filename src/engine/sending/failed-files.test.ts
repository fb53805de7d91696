import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NodeError, fromFileError, naming } from '../../errors.ts'
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
