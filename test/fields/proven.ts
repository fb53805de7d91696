// Runs the proofs of some columns, side by side.

import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { Column } from '../../src/domain/fields/effects.ts'
import { applyPlatform } from '../../src/platform/apply.ts'
import { CONNECTION } from './connection.ts'
import { FILES } from './about-files.ts'
import { Lane } from './lanes.ts'
import type { World } from './lanes.ts'
import { completed, provenHere } from './proof.ts'
import type { Proof, Stage } from './proof.ts'

export const PROOFS: readonly Proof[] = [...FILES, ...CONNECTION]

/** So many at once: each has lanes of its own. */
const AT_ONCE = 6

export function prove(
  columns: readonly Column[],
  start: (t: TestContext) => Promise<World>,
  skip: string | false = false,
): void {
  const jobs = columns.flatMap((column) =>
    PROOFS.flatMap((proof) => {
      const cells = provenHere(proof, column)
      return cells.length > 0 ? [{ column, proof, name: `${column}: ${cells.join(', ')}` }] : []
    }),
  )
  test(`what acts is seen to act: ${columns.join(', ')}`, { skip, concurrency: AT_ONCE }, async (t) => {
    const world = await start(t)
    await addPeople(world)
    const stages = new Map(columns.map((column) => [column, stageOf(world, column)]))
    const run = ({ column, proof, name }: (typeof jobs)[number]) =>
      t.test(name, () => proof.run(stages.get(column) ?? stageOf(world, column)))
    // Listeners have more places for addresses from which somebody has shown a secret. Without one, all lanes together have
    // more sessions open than strangers may have.
    const signsIn = ({ proof }: (typeof jobs)[number]) => proof.cells.includes('security.authentication')
    for (const job of jobs.filter(signsIn)) await run(job)
    const isAlone = ({ column, proof }: (typeof jobs)[number]) => proof.alone === column
    await Promise.all(jobs.filter((job) => !isAlone(job) && !signsIn(job)).map(run))
    for (const job of jobs.filter((one) => isAlone(one) && !signsIn(one))) await run(job)
  })
}

async function addPeople({ node: { context } }: World): Promise<void> {
  const users = ['ana', 'otto'].map((username) => ({
    username,
    email: `${username}@banco.example`,
    password: 'a password for tests',
    role: 'ROLE_OPERATOR' as const,
  }))
  await applyPlatform(context.store, context.seal, { users }, { now: Date.now() })
}

function stageOf(world: World, column: Column): Stage {
  let plain: Promise<Lane> | undefined
  const lane: Stage['lane'] = (options) => Lane.make(world, column, options)
  return { column, lane, plain: () => (plain ??= plainLane(lane)) }
}

async function plainLane(make: Stage['lane']): Promise<Lane> {
  const lane = await make()
  await lane.put('a.txt', 'AB')
  completed(await lane.emit())
  completed(await lane.receive('b.txt', 'B'))
  return lane
}
