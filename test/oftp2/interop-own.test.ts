// The interop suite against a node of ours, in clear and with passwords.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, startForeign } from './interop-own.ts'
import { makeIdentity } from './pair.ts'

test('the interop suite passes against a node of ours in another process, in clear', async (t) => {
  const foreign = await startForeign(t, await makeIdentity('foreign'), {
    id: 'O0013000001ESCLUSA',
    code: 'PLAIN',
    security: { authentication: 'PASSWORD', localKey: 'THEIRS', remoteKey: 'OURS' },
  })
  const settings = { ESCLUSA_INTEROP_OFTP2: `127.0.0.1:${foreign.plain}` }
  const { said, can, cannot } = await ask(foreign, settings, { pass: 16, skipped: 14 })
  for (const level of ['1.2', '1.3', '1.4', '2.0'])
    assert.ok(can.includes(`level ${level} (a file and its receipt)`), said)
  assert.deepEqual(cannot, ['nothing'])
  assert.match(said, /# not asked: signed receipts and protected files: no keys are set/)
})
