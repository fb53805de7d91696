// What becomes of transfers that wait their turn in a partner's call.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { PARKED } from '../../src/domain/transfer.ts'
import { NodeError } from '../../src/errors.ts'
import { testOnBoth, waitFor } from '../support/harness.ts'
import { reachAll } from '../support/reach.ts'
import { Gate, Line } from './line.ts'
import type { LineOptions } from './line.ts'
import { startRig } from './rig.ts'
import type { RigOptions } from './rig.ts'
import { callOf } from './wire.ts'

/** Channels whose partner calls, with a transfer each that waits for that. */
async function waitingRig(t: TestContext, count: number, options: LineOptions, more: RigOptions) {
  const line = new Line(options)
  const rig = await startRig(t, { ...more, transports: [line] })
  line.leadTo(rig)
  await rig.putContact({ id: 'acme', protocol: 'sftp' })
  rig.run()
  const ids: string[] = []
  for (let nth = 0; nth < count; nth++) {
    const code = `BANCO-ACME-F${nth}`
    const filePath = join(rig.place.files, code)
    await rig.putChannel(code, {
      directories: [{ direction: 'EMISION', filePath }],
      connection: { advancedConfigurationConnection: { callingEnd: 'REMOTO' } },
    })
    await rig.put(`${nth}.txt`, code, filePath)
    ids.push((await rig.send(code)).id)
  }
  await waitFor('all wait for the call', async () => {
    const rows = await rig.store.db.selectFrom('transfer').select(['lease_owner', 'due_at']).execute()
    return rows.every((row) => row.lease_owner === null && row.due_at === PARKED)
  })
  const call = async () => {
    const session = await line.open(callOf({ reach: reachAll('acme', 'partner') }), rig.host('sftp'))
    return rig.host('sftp').turn(session)
  }
  return { rig, line, ids, call }
}

testOnBoth(
  'what waits in a call that ends while the database cannot be written is let go, and goes with the next call',
  async (t, database) => {
    const { rig, line, ids, call } = await waitingRig(
      t,
      4,
      {
        onPush: async (push) => {
          const pushed = await push()
          if (line.sessions.length === 1) await line.sessions[0]?.close()
          return pushed
        },
      },
      { database, leaseMs: 1500 },
    )
    const { context, store } = rig
    const states = async () => (await Promise.all(ids.map((id) => rig.transfer(id)))).map((one) => one.state)
    let refused = 0
    context.store = {
      ...store,
      write: async (change) => {
        if (!(await states()).includes('COMPLETED')) return store.write(change)
        refused++
        throw new NodeError('unavailable', 'the database does not answer')
      },
    }
    await call().catch(() => {})
    context.store = store
    assert.ok(refused > 0)
    assert.deepEqual((await states()).toSorted(), ['COMPLETED', 'PENDING', 'PENDING', 'PENDING'])
    await waitFor(
      'nobody holds them',
      async () => {
        const rows = await store.db.selectFrom('transfer').select('lease_owner').execute()
        return rows.every((row) => row.lease_owner === null)
      },
      30_000,
    )
    await call()
    assert.deepEqual([...new Set(await states())], ['COMPLETED'])
  },
)

for (const turn of ['its turn comes', 'the call ends'])
  testOnBoth(
    `a reset of what waits in a call removes its wire forms, at the latest when ${turn}`,
    async (t, database) => {
      const gate = new Gate()
      const pushed: string[] = []
      const { rig, line, ids, call } = await waitingRig(
        t,
        2,
        {
          onPush: async (push, file) => {
            pushed.push(file.name)
            await gate.pass()
            const result = await push()
            if (turn === 'the call ends') await line.sessions[0]?.close()
            return result
          },
        },
        { database },
      )
      const { staging } = rig.context
      // As an attempt that broke off leaves them.
      for (const id of ids) await writeFile(await staging.outgoing(id, '0.wire'), 'a wire form')
      const calling = call()
      await waitFor('the first is under way', () => gate.waiting === 1)
      const second = pushed[0] === '0.txt' ? 1 : 0
      assert.deepEqual(await rig.reset(`BANCO-ACME-F${second}`), [ids[second]])
      gate.open()
      await calling
      await waitFor('nothing is left of it', async () => (await staging.known()).length === 0, 30_000)
      const states = await Promise.all(ids.map(async (id) => (await rig.transfer(id)).state))
      assert.deepEqual(states.toSorted(), ['CANCELLED', 'COMPLETED'])
      assert.equal(pushed.length, 1)
    },
  )
