// A process that archives and removes what is old, and nothing else: to be killed.
//
//   node test/upkeep/archive-child.ts <data folder> <database url or ''> <archive>

import { makeLog } from '../../src/log.ts'
import { openStore } from '../../src/store/database/open.ts'
import { retentionTask } from '../../src/upkeep/retention.ts'
import { attempt } from '../../src/upkeep/upkeep.ts'

const [dataDir = '', databaseUrl = '', archiveDir = ''] = process.argv.slice(2)
const store = await openStore({ dataDir, databaseUrl: databaseUrl || undefined })
const config = { keepTransfersDays: 1, keepHistoryDays: 1, archiveDir, fileRoots: [] }
const log = makeLog('warn', 'archiving')
const parts = { store, config, log, now: Date.now, owner: 'archiving' }
await attempt(parts, { ...retentionTask(parts), everyMs: 0, pauseMs: 0 })
await store.close()
