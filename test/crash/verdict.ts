// The last look, when everything has settled: every byte, every row and every folder. Returns what is wrong, in words.

import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Db } from '../../src/store/database/store.ts'
import type { TransferRow } from '../../src/store/database/tables.ts'
import { visible } from './observer.ts'
import type { Route } from './routes.ts'
import { sha256Of } from './sources.ts'
import type { SourceFile, Sources } from './sources.ts'

export type Scene = { routes: readonly Route[]; sources: Sources; db: Db; dataDirs: readonly string[] }

/** What is still to be done: nothing when it is an empty list. */
export async function unsettled({ routes, sources, db }: Scene): Promise<string[]> {
  const left: string[] = []
  for (const route of routes) {
    const there = new Set(await visible(route.end))
    const missing = [...sources.of(route).keys()].filter((name) => !there.has(name))
    if (missing.length > 0) left.push(`${route.kind}: ${missing.length} files to come, first ${missing[0]}`)
    const waiting = route.original === 'stays' ? [] : await visible(route.source)
    if (waiting.length > 0) left.push(`${route.kind}: ${waiting.length} files still in ${route.source}`)
    // What came whole is taken from the partner's outbox last: it may still lie between the two channels of a relay.
    for (const folder of await stillBetween(route)) left.push(`${route.kind}: files still in ${folder}`)
  }
  const active = await db
    .selectFrom('transfer')
    .select(['id', 'channel_code', 'state'])
    .where('state', 'in', ['PENDING', 'IN_PROGRESS'])
    .execute()
  return [...left, ...active.map((row) => `transfer ${row.id} of ${row.channel_code} is ${row.state}`)]
}

export async function verdict(scene: Scene): Promise<string[]> {
  const faults = await unsettled(scene)
  for (const route of scene.routes) {
    for (const source of scene.sources.of(route).values()) faults.push(...(await fileFaults(route, source)))
    faults.push(...(await folderFaults(route, scene.sources)), ...(await deliveryFaults(scene, route)))
  }
  return [
    ...faults,
    ...(await rowFaults(scene.db)),
    ...(await historyFaults(scene.db)),
    ...(await leftovers(scene)),
  ]
}

async function fileFaults(route: Route, source: SourceFile): Promise<string[]> {
  const path = join(route.end, source.name)
  const faults: string[] = []
  const check = async (at: string) => {
    const sha256 = await sha256Of(at).catch(() => 'none')
    if (sha256 !== source.sha256)
      faults.push(`${route.kind}: ${at} has SHA-256 ${sha256}, not ${source.sha256}`)
  }
  await check(path)
  if (typeof route.original === 'object') await check(join(route.original.folder, source.name))
  if (route.original === 'stays') await check(join(route.source, source.name))
  return faults
}

/** No file twice, none that nobody put in, no hidden leftovers at either end. */
async function folderFaults(route: Route, sources: Sources): Promise<string[]> {
  const faults: string[] = []
  const known = sources.of(route)
  for (const folder of new Set(route.folders)) {
    const names = await readdir(folder)
    for (const name of names.filter((one) => !known.has(one)))
      faults.push(`${route.kind}: left over: ${folder}/${name}`)
    if (!mayHold(route, folder) && names.length > 0)
      faults.push(`${route.kind}: ${folder} still holds ${names.length} files`)
  }
  return faults
}

function mayHold({ end, source, original }: Route, folder: string): boolean {
  return (
    folder === end ||
    (typeof original === 'object' && folder === original.folder) ||
    (original === 'stays' && folder === source)
  )
}

async function stillBetween(route: Route): Promise<string[]> {
  const left: string[] = []
  for (const folder of new Set(route.folders))
    if (folder !== route.source && !mayHold(route, folder) && (await visible(folder)).length > 0)
      left.push(folder)
  return left
}

/** Each file was done by exactly one transfer of each channel of its route. */
async function deliveryFaults({ db, sources }: Scene, route: Route): Promise<string[]> {
  const faults: string[] = []
  for (const code of [route.sends, route.receives]) {
    if (code === undefined) continue
    const rows = await db
      .selectFrom('transfer_file')
      .innerJoin('transfer', 'transfer.id', 'transfer_file.transfer_id')
      .select(['name', 'hash', 'phase', 'state'])
      .where('channel_code', '=', code)
      .execute()
    const byName = Map.groupBy(rows, (row) => row.name)
    for (const source of sources.of(route).values()) {
      const done = (byName.get(source.name) ?? []).filter((row) => row.phase === 'DONE')
      if (done.length !== 1) faults.push(`${code}: ${source.name} was done ${done.length} times`)
      // A reception that broke off in one file is FAILED by it; the files before it are here all the same.
      const ended = code === route.receives ? ['COMPLETED', 'FAILED'] : ['COMPLETED']
      if (done.some((row) => row.hash !== source.sha256 || !ended.includes(row.state)))
        faults.push(`${code}: the row of ${source.name} does not fit: ${JSON.stringify(done)}`)
    }
  }
  return faults
}

async function rowFaults(db: Db): Promise<string[]> {
  const rows = await db
    .selectFrom('transfer')
    .selectAll()
    .orderBy('channel_code')
    .orderBy('position')
    .execute()
  const faults: string[] = []
  for (const row of rows) {
    // A reception that a crash or a stop cut off may fail: the next fetch brings the file. An emission goes on by itself.
    const excused =
      row.direction === 'RECEPCION' && ['connection_lost', 'unavailable'].includes(row.error_code ?? '')
    if (row.state !== 'COMPLETED' && !(row.state === 'FAILED' && excused))
      faults.push(`transfer ${row.id} of ${row.channel_code} is ${row.state}: ${row.error ?? ''}`)
    if (
      row.ended_at === null ||
      row.started_at === null ||
      row.ended_at < row.started_at ||
      row.lease_owner !== null
    )
      faults.push(
        `transfer ${row.id} of ${row.channel_code}: times or lease do not fit ${JSON.stringify(row)}`,
      )
  }
  for (const [code, some] of Map.groupBy(rows, (row) => row.channel_code))
    faults.push(...positionFaults(code, some))
  return faults
}

function positionFaults(code: string, rows: readonly TransferRow[]): string[] {
  const dense = rows.every((row, index) => row.position === index + 1)
  const ordered = rows.every(
    (row, index) => index === 0 || row.listed_at >= (rows[index - 1]?.listed_at ?? 0),
  )
  return dense && ordered ? [] : [`${code}: the list of transfers has gaps or is out of order`]
}

/** Every transfer began once and ended once, in that order, as its row says. */
async function historyFaults(db: Db): Promise<string[]> {
  const entries = await db
    .selectFrom('history')
    .selectAll()
    .orderBy('channel_code')
    .orderBy('position')
    .execute()
  const faults: string[] = []
  for (const [code, some] of Map.groupBy(entries, (entry) => entry.channel_code))
    if (!some.every((entry, index) => entry.position === index + 1)) faults.push(`${code}: history has gaps`)
  const about = Map.groupBy(
    entries.filter((entry) => entry.event.startsWith('TRANSFER_')),
    (entry) => entry.detail?.split(':')[0] ?? '',
  )
  for (const row of await db.selectFrom('transfer').select(['id', 'state', 'direction', 'type']).execute()) {
    const said = (about.get(row.id) ?? []).map((entry) => entry.event.replace('TRANSFER_', '')).join(' ')
    const wanted = `${row.direction === 'EMISION' ? 'REQUESTED ' : ''}STARTED ${row.state}`
    if (said !== wanted)
      faults.push(`history of transfer ${row.id} (${row.direction}): ${said}, not ${wanted}`)
    about.delete(row.id)
  }
  for (const id of about.keys()) faults.push(`history speaks of a transfer that is not there: ${id}`)
  return faults
}

/** Nothing stays in the data folder but half files that a partner may go on with. */
async function leftovers({ db, dataDirs }: Scene): Promise<string[]> {
  const known = new Set((await db.selectFrom('partial_file').select('path').execute()).map((row) => row.path))
  const faults: string[] = []
  for (const dataDir of new Set(dataDirs)) {
    for (const name of await entries(join(dataDir, 'outgoing'))) faults.push(`left over: outgoing/${name}`)
    for (const name of await entries(join(dataDir, 'outbox'))) faults.push(`left over: outbox/${name}`)
    for (const name of await entries(join(dataDir, 'quarantine'))) faults.push(`in quarantine: ${name}`)
    for (const name of await entries(join(dataDir, 'partial'))) {
      const path = join(dataDir, 'partial', name)
      if (!known.has(path)) faults.push(`left over: ${path} (${(await lstat(path)).size} octets)`)
    }
  }
  return faults
}

function entries(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => [])
}
