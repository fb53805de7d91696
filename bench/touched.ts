// What queries touch in PostgreSQL: blocks and rows, which no load on the machine changes.

import { Client } from 'pg'

export type Asked = { text: string; values?: unknown[] }
export type Touched = { blocks: number; rows: number }

/** Every query that reads, explained with the values that it was asked with. */
export async function touchedBy(asked: readonly Asked[], databaseUrl: string | undefined): Promise<Touched> {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  const sum = { blocks: 0, rows: 0 }
  for (const { text, values } of asked) {
    if (!/^\s*(select|with)\b/i.test(text)) continue
    const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
      `explain (analyze, buffers, format json) ${text}`,
      values,
    )
    const plan = rows[0]?.['QUERY PLAN'][0].Plan
    sum.blocks += (plan?.['Shared Hit Blocks'] ?? 0) + (plan?.['Shared Read Blocks'] ?? 0)
    sum.rows += rowsOf(plan)
  }
  await client.end()
  return sum
}

type Plan = {
  'Shared Hit Blocks'?: number
  'Shared Read Blocks'?: number
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: Plan[]
}

/** Those that its leaves read, kept or not. */
function rowsOf(plan: Plan | undefined): number {
  if (!plan) return 0
  if (plan.Plans) return plan.Plans.reduce((sum, one) => sum + rowsOf(one), 0)
  return (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops']
}

/** As the driver is given them. */
export async function queriesOf(work: () => Promise<unknown>): Promise<Asked[]> {
  const asked: Asked[] = []
  const { query } = Client.prototype
  Client.prototype.query = function (
    this: Client,
    first: string | Asked,
    second?: unknown,
    ...rest: unknown[]
  ) {
    const { text, values = second } = typeof first === 'string' ? { text: first } : first
    if (typeof text === 'string') asked.push({ text, values: Array.isArray(values) ? values : [] })
    return Reflect.apply(query, this, [first, second, ...rest])
  } as typeof query
  try {
    await work()
  } finally {
    Client.prototype.query = query
  }
  return asked
}
