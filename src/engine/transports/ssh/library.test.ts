// How ssh2 is loaded, each time by a process of its own: with the swap, without it, and after somebody else.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'

import { nativeBinding } from './native-binding.ts'

const skip = nativeBinding().loaded ? false : nativeBinding().advice

/** What a script says at its end; it has `loadSsh` and ssh2's module of ciphers as it was before. */
function loading(script: string, before = ''): unknown {
  const whole = `
    import { createRequire } from 'node:module'
    const require = createRequire(${JSON.stringify(import.meta.url)})
    const load = () => require('ssh2/lib/protocol/crypto.js')
    ${before}
    const { createCipher, createDecipher } = load()
    const untouched = () => load().createCipher === createCipher && load().createDecipher === createDecipher
    const { loadSsh } = await import(${JSON.stringify(import.meta.resolve('./library.ts'))})
    ${script}`
  const run = spawnSync(process.execPath, ['--input-type=module', '-e', whole], { encoding: 'utf8' })
  assert.equal(run.stderr, '')
  return JSON.parse(run.stdout)
}

const SAY = 'console.log(JSON.stringify({ packetMemory, notes, untouched: untouched() }))'

test('unless something else is said, packets have memory that is used again', { skip }, () => {
  const said = loading(`const { packetMemory, notes } = loadSsh(); ${SAY}`)
  assert.deepEqual(said, { packetMemory: true, notes: [], untouched: false })
})

test('with the setting off nothing of ssh2 is touched', { skip }, () => {
  const said = loading(`const { packetMemory, notes } = loadSsh({ packetMemory: false }); ${SAY}`)
  assert.deepEqual(said, { packetMemory: false, notes: [], untouched: true })
})

test('when somebody else has loaded ssh2 it stays as it is, and a note says so', { skip }, () => {
  const said = loading(`const { packetMemory, notes } = loadSsh(); ${SAY}`, `require('ssh2')`)
  const { notes, ...rest } = said as { notes: string[] }
  assert.deepEqual(rest, { packetMemory: false, untouched: true })
  assert.equal(notes.length, 1)
  assert.match(
    notes[0] ?? '',
    /somebody else has loaded ssh2 before.*ssh2 1\.\d+\.\d+; .*written for 1\.17\.0/,
  )
})

test('who wants it otherwise than it is loaded is told', { skip }, () => {
  const said = loading(`
    loadSsh({ packetMemory: false })
    let thrown = ''
    try { loadSsh({ packetMemory: true }) } catch (error) { thrown = error.message }
    console.log(JSON.stringify([thrown, loadSsh({ packetMemory: false }) === loadSsh()]))`)
  assert.deepEqual(said, ['ssh2 is already loaded with another setting for its packet memory', true])
})
