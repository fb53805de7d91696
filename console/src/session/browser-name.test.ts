import assert from 'node:assert/strict'
import { test } from 'node:test'
import { browserName } from './browser-name.ts'

test('browsers are named as people know them; others as they call themselves', () => {
  const webkit = 'AppleWebKit/537.36 (KHTML, like Gecko)'
  const named = {
    [`Mozilla/5.0 (X11; Linux x86_64) ${webkit} Chrome/156.0.0.0 Safari/537.36`]: 'Chrome 156, Linux',
    [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webkit} Chrome/140.0.0.0 Safari/537.36 Edg/140.0.1.2`]:
      'Edge 140, Windows',
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:130.0) Gecko/20100101 Firefox/130.0':
      'Firefox 130, macOS',
    'curl/8.5.0': 'curl/8.5.0',
  }
  assert.deepEqual(Object.keys(named).map(browserName), Object.values(named))
})
