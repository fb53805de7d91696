// What a partner's server writes into its answers is shown to people and kept, however long it is and whatever it holds: a
// transfer ends by it all the same. A whole node calls a server that refuses every file in such words.

import assert from 'node:assert/strict'
import { STATUS, TYPE, packet } from '../../src/engine/transports/ssh/sftp-packet.ts'
import { closeAfter, testOnBoth } from '../support/harness.ts'
import { fingerprint, good, startRaw } from '../support/sftp/raw-server.ts'
import { CODE, startSftpNode } from './node.ts'

const SAYS = `go\0away\u001b[2J\r\nto\u202ethe east ${'x'.repeat(200_000)}`
const SHOWN = /the partner's server refused to open \S+: go away \[2J to the east x+…$/

testOnBoth('a file refused with words that no database keeps fails its transfer', async (t, database) => {
  const server = await startRaw(({ type, id }, channel) => {
    if (type === TYPE.OPEN) channel.write(packet(TYPE.STATUS, id, STATUS.FAILURE, SAYS, ''))
    else good({ type, id }, channel)
  })
  closeAfter(t, () => server.stop())
  const partner = await startSftpNode(t, {}, undefined, database)
  await partner.apply(
    {
      sftp: { username: 'u', password: 'secret', hostKeys: [fingerprint()], inbox: '/in' },
      remoteIPs: [{ id: 'ip', ipAddress: '127.0.0.1', port: server.port }],
    },
    { connection: { ips: ['127.0.0.1'] } },
  )
  await partner.put('salaries.txt', 'text')
  const { state, error, error_code: code } = await partner.ended(await partner.send())
  assert.deepEqual([state, code], ['FAILED', 'remote_refused'])
  const { db } = partner.node.store
  const { detail } = await db
    .selectFrom('history')
    .select('detail')
    .where('channel_code', '=', CODE)
    .where('event', '=', 'TRANSFER_FAILED')
    .executeTakeFirstOrThrow()
  for (const text of [error ?? '', detail ?? '']) {
    assert.match(text, SHOWN)
    assert.ok(text.length < 700, `${text.length} characters`)
  }
})
