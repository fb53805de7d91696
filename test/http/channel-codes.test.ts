// The three parts of a code in the channel itself: always there, read-only, whatever an earlier version kept.

import assert from 'node:assert/strict'
import { startTestHttp, testOnBoth } from '../support/harness.ts'
import { CLOSED, FULL, PLAIN } from '../support/seed.ts'

type Parts = { localEntity: string; remoteEntity: string; application: string }

testOnBoth('every channel of the list is addressed by the three parts it shows', async (t, database) => {
  const node = await startTestHttp(t, { database })
  const { body } = await node.call('listChannels', { query: { size: 10 } })
  const codes = body.content.map(
    ({ localEntity, remoteEntity, application }: Parts) => `${localEntity}-${remoteEntity}-${application}`,
  )
  assert.deepEqual(codes, [PLAIN, FULL, CLOSED])
  for (const code of codes) assert.equal((await node.call('channelStatus', { code })).status, 200)
})

testOnBoth('an update may name the parts of the code and no others', async (t, database) => {
  const node = await startTestHttp(t, { database })
  const parts = { localEntity: 'BANCO', remoteEntity: 'ACME', application: 'NOMINA' }
  const same = await node.call('updateChannel', { code: FULL, body: { ...parts, name: 'Otra' } })
  assert.equal(same.status, 200)
  assert.equal(same.body.name, 'Otra')
  for (const [field, part] of Object.entries(parts))
    for (const other of ['Banco Azul', '', null]) {
      const { status, body } = await node.call('updateChannel', {
        code: FULL,
        body: { name: 'x', [field]: other },
      })
      assert.equal(status, 400)
      assert.equal(body.message, `/${field} is part of the channel code and must stay ${part}`)
    }
  const [read] = (await node.call('channelConfiguration', { code: FULL })).body
  assert.deepEqual({ ...read, ...parts, name: 'Otra' }, read)
})

testOnBoth('names that an earlier version kept in their place are not shown', async (t, database) => {
  const node = await startTestHttp(t, { database })
  const stored = () =>
    node.store.db.selectFrom('channel').select('config').where('code', '=', PLAIN).executeTakeFirstOrThrow()
  const old = { ...JSON.parse((await stored()).config), localEntity: 'Banco Azul', application: 'FACTURA' }
  await node.store.db
    .updateTable('channel')
    .set((eb) => ({ config: JSON.stringify(old), revision: eb('revision', '+', 1) }))
    .where('code', '=', PLAIN)
    .execute()
  const [read] = (await node.call('channelConfiguration', { code: PLAIN })).body
  assert.deepEqual([read.localEntity, read.remoteEntity, read.application], ['BANCO', 'ACME', 'FACTURA'])
  const posted = await node.call('updateChannel', { code: PLAIN, body: { ...read, name: 'Facturas' } })
  assert.deepEqual(posted.body, { ...read, name: 'Facturas' })
  assert.doesNotMatch((await stored()).config, /Entity|application/)
})
