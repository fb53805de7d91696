// Every cell of the table of fields that says "acts", over OFTP2 between two nodes: either end calls.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { COLUMNS, FIELD_EFFECTS } from '../../src/domain/fields/effects.ts'
import { startOftp2World } from './lanes.ts'
import { actsIn, provenHere, rowName } from './proof.ts'
import { PROOFS, prove } from './proven.ts'

test('every acting cell has a proof, and no proof is about a row that is not there', () => {
  const rows = FIELD_EFFECTS.map(rowName)
  assert.deepEqual(
    PROOFS.flatMap(({ cells }) => cells).filter((cell) => !rows.includes(cell)),
    [],
  )
  const missing = COLUMNS.flatMap((column) => {
    const proven = PROOFS.flatMap((proof) => provenHere(proof, column))
    return actsIn(column)
      .filter((cell) => !proven.includes(cell))
      .map((cell) => `${column}: ${cell}`)
  })
  assert.deepEqual(missing, [])
})

prove(['oftp2 local', 'oftp2 remote'], startOftp2World)
