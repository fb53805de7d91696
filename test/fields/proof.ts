// A proof drives transfers with fields set and without, and looks at the difference that the fields promise.

import assert from 'node:assert/strict'
import { COLUMNS, FIELD_EFFECTS } from '../../src/domain/fields/effects.ts'
import type { Column } from '../../src/domain/fields/effects.ts'
import { Lane } from './lanes.ts'
import type { LaneOptions, Outcome } from './lanes.ts'

export type Proof = {
  /** The rows of the table that it is about: the field, and its values where the table tells them apart. */
  cells: readonly string[]
  columns?: readonly Column[]
  /** There it looks at this whole process: nothing else may run. */
  alone?: Column
  run: (stage: Stage) => Promise<void>
}

export type Stage = {
  column: Column
  lane: (options?: LaneOptions) => Promise<Lane>
  /** The lane that sets none of the fields: one file went out by it, and one came in. */
  plain: () => Promise<Lane>
}

export const LONG = {
  transmission: 'connection.advancedConfigurationTransmission',
  calls: 'connection.advancedConfigurationConnection',
}

export const rowName = ({ field, values }: { field: string; values?: string }) =>
  values === undefined ? field : `${field} ${values}`

export function actsIn(column: Column): string[] {
  return FIELD_EFFECTS.filter(({ cells }) => cells[column] === 'acts').map(rowName)
}

/** Of the rows that a proof is about, those that act here: none, and it is not run here. */
export function provenHere({ cells, columns = COLUMNS }: Proof, column: Column): string[] {
  const acting = actsIn(column)
  return columns.includes(column) ? cells.filter((cell) => acting.includes(cell)) : []
}

export function completed({ state, error }: Outcome): void {
  assert.equal(state, 'COMPLETED', error)
}
