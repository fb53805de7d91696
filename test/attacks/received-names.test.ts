// A partner chooses the names of its files: none may hide, pass for an option, or look like another in a folder here.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callBank, deliver, startCalledBank } from './partner.ts'

test('a file whose name would hide it, pass for an option or look like another is refused', async (t) => {
  const bank = await startCalledBank(t, 'oftp2')
  await bank.apply({}, { NOMINA: {} })
  const partner = await callBank(t, bank.port)
  assert.ok(typeof partner !== 'string')
  for (const name of ['.bashrc', '-rf', 'factura\u202Etxt.exe'])
    assert.notEqual(await deliver(partner, 'NOMINA', name), 'EFPA', name)
  assert.equal(await deliver(partner, 'NOMINA', 'factura.txt'), 'EFPA')
  assert.deepEqual(await bank.received('NOMINA'), ['factura.txt'])
})
