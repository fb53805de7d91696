import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TRANSFER_STATUSES } from '../contract/transfer.ts'
import { ACTIVE, isOver, mayMove } from './transfer.ts'

test('a transfer is either active or over, and what is over never moves again', () => {
  for (const state of TRANSFER_STATUSES) {
    assert.equal(isOver(state), !(ACTIVE as readonly string[]).includes(state), state)
    for (const to of TRANSFER_STATUSES) if (isOver(state)) assert.equal(mayMove(state, to), false)
  }
})

test('nothing completes without having run', () => {
  assert.equal(mayMove('PENDING', 'COMPLETED'), false)
  assert.equal(mayMove('IN_PROGRESS', 'COMPLETED'), true)
  assert.equal(mayMove('IN_PROGRESS', 'PENDING'), true)
})
