import assert from 'node:assert/strict'
import { test } from 'node:test'
import { usualDataDir } from './root.ts'

test('a checkout keeps its data where it is called, a release in the place of its kind of caller', () => {
  const ana = { uid: 1000, home: () => '/home/ana', xdg: undefined }
  assert.equal(usualDataDir({ ...ana, isRelease: false }), './data')
  assert.equal(usualDataDir({ ...ana, isRelease: true }), '/home/ana/.local/share/esclusa')
  assert.equal(usualDataDir({ ...ana, isRelease: true, xdg: '/home/ana/d' }), '/home/ana/d/esclusa')
  assert.equal(usualDataDir({ ...ana, isRelease: true, xdg: 'd' }), '/home/ana/.local/share/esclusa')
  assert.equal(usualDataDir({ ...ana, isRelease: true, uid: 0 }), '/var/lib/esclusa')
})
