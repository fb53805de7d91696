import assert from 'node:assert/strict'
import { newId } from '../../src/store/database/ids.ts'
import { insertTransfer, moveTransfer } from '../../src/store/transfers/transfers.ts'
import { newFile } from '../../src/transfers/request.ts'
import { startTestHttp, testOnBoth } from '../support/harness.ts'
import { PLAIN } from '../support/seed.ts'

testOnBoth('a file of a failed reception that never got a place shows no path', async (t, database) => {
  const node = await startTestHttp(t, { database })
  const now = Date.now()
  const id = newId(now)
  const candidate = { directory: 0, name: 'a.txt', path: '', size: 3, modifiedAt: 0 }
  const file = { ...newFile(candidate, 0), keyDate: '20260101', keyTime: '0000000001' }
  await node.store.write(async (tx) => {
    const made = { direction: 'RECEPCION', type: 'REMOTE', requestedBy: null, retryOf: null } as const
    await insertTransfer(tx, { id, channelCode: PLAIN, ...made, now, files: [file] })
    await moveTransfer(tx, id, { from: 'PENDING', to: 'FAILED', now })
  })
  const detail = (await node.call('transferDetail', { code: PLAIN, transferId: id })).body
  const list = (await node.call('listTransfers', { code: PLAIN })).body
  for (const transfer of [detail, list.content[0]])
    assert.deepEqual(transfer.files, [{ fileName: 'a.txt', size: '3' }])
})
