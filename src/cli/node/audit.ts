// `esclusa audit …`: whether the audit trail is whole, and the trail as a file.

import { createPublicKey } from 'node:crypto'
import { createReadStream, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { csvLines, jsonLines, readLines, wholeTrail } from '../../audit/export.ts'
import { isSigned } from '../../audit/keys.ts'
import { verifyAudit } from '../../audit/read-trail.ts'
import { walkTrail } from '../../audit/search.ts'
import type { TrailFilter } from '../../audit/search.ts'
import { keepHead, keptHead, sealAudit } from '../../audit/sealer.ts'
import { verifyTrail } from '../../audit/verify.ts'
import type { Verification } from '../../audit/verify.ts'
import { AUDIT_ACTIONS } from '../../contract/audit.ts'
import { nextDay, startOfDay, zoneOf } from '../../domain/time.ts'
import type { Zone } from '../../domain/time.ts'
import { messageOf, NodeError } from '../../errors.ts'
import { remark, say, sayJson } from '../print.ts'
import { withPlatform } from './with-platform.ts'

export async function verify(options: { file?: string; key?: string; json?: boolean }): Promise<void> {
  if (options.key !== undefined && options.file === undefined)
    throw new NodeError('bad_use', '--key belongs to --file: without it this platform’s own key is used')
  const found =
    options.file === undefined
      ? await withPlatform(({ config, store, audit }) => {
          const seen = keptHead(config.dataDir)
          return verifyAudit(store.db, audit.keys, seen ? [seen] : [])
        })
      : await verifyFile(options.file, options.key)
  if (options.json) sayJson(found)
  else sayVerification(found)
  if (!found.whole) process.exitCode = 1
}

function sayVerification({ whole, entries, open, from, to, findings }: Verification): void {
  for (const finding of findings) say(finding)
  const waiting = open > 0 ? `, ${open} not in the chain yet` : ''
  say(`${entries} entries, places ${from} to ${to}${waiting}: ${whole ? 'whole' : 'NOT whole'}`)
}

/** Far from the node: an export needs nothing but the key that it was signed with. */
async function verifyFile(file: string, keyFile: string | undefined): Promise<Verification> {
  const { start, last, publicKey, rows } = await readLines(
    createInterface({ input: openFile(file), crlfDelay: Infinity }),
  ).catch((thrown: unknown) => {
    throw new NodeError('bad_use', `${file} is no export of an audit trail: ${messageOf(thrown)}`)
  })
  const pem = keyFile === undefined ? publicKey : readFileSync(keyFile, 'utf8')
  if (last === undefined || pem === undefined)
    throw new NodeError('bad_use', `${file} has no signed head: only an export of the whole trail has one`)
  if (keyFile === undefined)
    remark('checked with the key that stands in the file itself: --key takes the one you were given')
  const key = createPublicKey(pem)
  return verifyTrail(
    { chain: rows, open: [], start, last },
    { isSigned: (text, signature) => isSigned(key, text, signature) },
  )
}

function openFile(file: string): Readable {
  return file === '-' ? process.stdin : createReadStream(file)
}

export type Exporting = {
  format: string
  from?: string
  to?: string
  user?: string
  action?: string
  channel?: string
  search?: string
}

export async function exportTrail(options: Exporting): Promise<void> {
  const { format, user, channel, search } = options
  if (format !== 'jsonl' && format !== 'csv')
    throw new NodeError('bad_use', `--format must be jsonl or csv, not "${format}"`)
  const action = AUDIT_ACTIONS.find((one) => one === options.action)
  if (options.action !== undefined && action === undefined)
    throw new NodeError('bad_use', `--action must be one of ${AUDIT_ACTIONS.join(', ')}`)
  await withPlatform(async ({ config, store, audit, actor }) => {
    const zone = zoneOf(config.timezone)
    const filter: TrailFilter = {
      who: user,
      action,
      channelCode: channel,
      search,
      from: dayStart(options.from, '--from', zone),
      before: options.to === undefined ? undefined : dayStart(nextDay(options.to), '--to', zone),
    }
    await store.write((tx) => audit.add(tx, actor, [{ action: 'AUDIT_EXPORTED', facts: { ...options } }]))
    const head = await sealAudit(store, audit.keys, Date.now())
    if (head) keepHead(config.dataDir, head)
    const isWhole = Object.values(filter).every((value) => value === undefined)
    const lines =
      format === 'csv'
        ? csvLines(walkTrail(store.db, filter, 'asc'), zone)
        : isWhole
          ? wholeTrail(store.db, audit.keys)
          : jsonLines(walkTrail(store.db, filter, 'asc'))
    for await (const line of lines) if (!process.stdout.write(line)) await drained()
  })
}

function drained(): Promise<void> {
  return new Promise((resolve) => process.stdout.once('drain', resolve))
}

function dayStart(day: string | undefined, option: string, zone: Zone): number | undefined {
  if (day === undefined) return undefined
  const at = startOfDay(day, zone)
  if (at === undefined) throw new NodeError('bad_use', `${option} must be a real date, yyyy-MM-dd`)
  return at
}

export async function printKey(): Promise<void> {
  await withPlatform(({ audit }) => {
    process.stdout.write(audit.keys.publicKey)
    return Promise.resolve()
  })
}
