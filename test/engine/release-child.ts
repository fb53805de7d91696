// A node that is killed in the middle of a release: before or after the n-th write to its database.

import { BY_ITSELF, makeAuditTrail } from '../../src/audit/trail.ts'
import { zoneOf } from '../../src/domain/time.ts'
import { discardFile, releaseFile } from '../../src/quarantine/decide-file.ts'
import { openStore } from '../../src/store/database/open.ts'
import type { Store } from '../../src/store/database/store.ts'
import { findQuarantined } from '../../src/store/quarantine.ts'

const [dataDir = '', files = '', id = '', what = '', killAt = ''] = process.argv.slice(2)
const opened = await openStore({ dataDir, databaseUrl: undefined })
let nth = 0
const dieAt = (point: string) => {
  if (point === killAt) process.kill(process.pid, 'SIGKILL')
}
const write: Store['write'] = async (change) => {
  nth++
  dieAt(`before ${nth}`)
  const done = await opened.write(change)
  dieAt(`after ${nth}`)
  return done
}
const store = { ...opened, write }
const file = await findQuarantined(store.db, id)
if (!file) throw new Error(`there is no file ${id}`)
const roots = { fileRoots: [files], scriptRoots: [] }
const deciding = {
  store,
  audit: makeAuditTrail('x'.repeat(64), 'child', Date.now),
  roots,
  zone: zoneOf('UTC'),
  now: Date.now,
}
if (what === 'release') await releaseFile(deciding, BY_ITSELF, file)
else await discardFile(deciding, BY_ITSELF, file)
