// Transfers that are not over: few of very many. The states stand in the text of a statement, not among its values: SQLite
// takes the indexes that hold these transfers alone only where it reads them there, and would go through all of them.

import { sql } from 'kysely'
import { ACTIVE } from '../../domain/transfer.ts'

export const isActive = sql<boolean>`transfer.state in (${sql.join(ACTIVE.map((state) => sql.lit(state)))})`
