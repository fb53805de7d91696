// A node's notifier in a process that is going to be killed: events happen without a pause, every third transaction is
// taken back, and what happened is told. Options come as JSON in the first argument.

import { readConfig } from '../../src/config.ts'
import { makeLog } from '../../src/log.ts'
import { Notifier } from '../../src/notify/notifier.ts'
import { openStore } from '../../src/store/database/open.ts'
import { addEvent } from '../../src/store/events/outbox.ts'
import { seal } from './scene.ts'

type Options = { dataDir: string; databaseUrl?: string; round: number }
const { dataDir, databaseUrl, round } = JSON.parse(process.argv[2] ?? '{}') as Options

const store = await openStore({ dataDir, databaseUrl })
const config = readConfig({
  ESCLUSA_DATA_DIR: dataDir,
  ESCLUSA_WEBHOOK_NETWORKS: '127.0.0.0/8',
  ESCLUSA_LEASE_SECONDS: '1',
})
const log = makeLog('silent', 'child')
const notifier = new Notifier({ config, store, seal, log, owner: `child-${round}`, version: '0' })
notifier.start()
process.stdout.write('ready\n')

for (let nth = 0; ; nth++) {
  const takenBack = nth % 3 === 2
  await store
    .write(async (tx) => {
      const detail = `${takenBack ? 'taken back' : 'kept'} ${round}/${nth}`
      await addEvent(tx, {
        type: 'channel.updated',
        at: Date.now(),
        channelCode: `A-B-C${nth % 5}`,
        data: { detail },
      })
      if (takenBack) throw new Error('taken back')
    })
    .catch(() => {})
  notifier.nudge()
  await new Promise((resolve) => setTimeout(resolve, 2))
}
