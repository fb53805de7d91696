// The native binding that the installation builds: there, and harmless.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { nativeBinding } from './native-binding.ts'

const { loaded, advice } = nativeBinding()

test('what the native binding made can be collected', { skip: loaded ? false : advice }, () => {
  // Objects of one turn, collected in another: a fault there ends the whole process.
  const script = `
    const { createCipher, bindingAvailable, CIPHER_INFO } = require('ssh2/lib/protocol/crypto.js')
    const cipherInfo = CIPHER_INFO['aes128-gcm@openssh.com']
    const outbound = { seqno: 0, cipherInfo, cipherIV: Buffer.alloc(12), cipherKey: Buffer.alloc(16), onWrite() {} }
    for (let n = 0; n < 3000; n++) createCipher({ outbound, inbound: {} })
    setTimeout(() => { gc(); setTimeout(() => console.log(bindingAvailable), 10) }, 10)`
  const run = spawnSync(process.execPath, ['--expose-gc', '-e', script], { encoding: 'utf8' })
  assert.equal(run.stderr, '')
  assert.equal(run.stdout, 'true\n')
})
