// A day of history for the console to show: transfers that ended in the last 24 hours, with their history entries. The
// store's functions write it into the demo's own database. It is the same day at every start, except for the clock.

import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { basename } from 'node:path'
import type { HistoryEvent } from '../contract/channel.ts'
import type { TransferDirection, TransferStatus, TransferType } from '../contract/transfer.ts'
import { addHistory } from '../store/channels.ts'
import { putHealth } from '../store/partner-health.ts'
import { newId } from '../store/database/ids.ts'
import type { Store, Tx } from '../store/database/store.ts'
import { settle } from '../store/transfers/failures.ts'
import { insertTransfer, moveTransfer } from '../store/transfers/transfers.ts'
import { folderOf } from './channels.ts'
import { writeLate } from './expected.ts'
import { SILENT } from './partners.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const NO_ANSWER = { code: 'connect_failed', message: 'no connection to 127.0.0.1 (ECONNREFUSED)' }

/** What channels do on an ordinary day: how files are named, and about how many KiB they have. */
type Habit = [code: string, way: TransferDirection, type: TransferType, name: string, kib: number]
const HABITS: Habit[] = [
  ['BANCO-ACME-NOMINA', 'EMISION', 'MANUAL', 'nomina.txt', 1840],
  ['BANCO-LAGO-SEPA', 'EMISION', 'AUTOMATIC', 'pain.001.xml', 620],
  ['BANCO-ACME-EXTRACTO', 'EMISION', 'AUTOMATIC', 'extracto.txt', 48],
  ['BANCO-CANTABRIA-RECIBOS', 'RECEPCION', 'AUTOMATIC', 'recibos.xml', 910],
  ['BANCO-ACME-PAGOS', 'EMISION', 'MANUAL', 'pagos.xml', 260],
  ['BANCO-HANSA-SEPA', 'EMISION', 'MANUAL', 'pacs.008.xml', 1210],
  ['BANCO-NORTE-LISTAS', 'RECEPCION', 'AUTOMATIC', 'lista.txt', 160],
  ['BANCO-ACME-PAGOS', 'RECEPCION', 'REMOTE', 'confirmacion.xml', 14],
  ['BANCO-LAGO-RECHAZOS', 'RECEPCION', 'AUTOMATIC', 'pain.002.xml', 22],
  ['CUSTODIA-DEPOSITO-ARCHIVO', 'EMISION', 'MANUAL', 'documentos.tar', 6400],
  ['BANCO-LEVANTE-SINIESTROS', 'EMISION', 'MANUAL', 'siniestros.csv', 75],
  ['BANCO-HANSA-DIVISAS', 'RECEPCION', 'AUTOMATIC', 'mt300.txt', 9],
  ['BANCO-LAGO-EXTRACTO', 'EMISION', 'MANUAL', 'mt940.txt', 180],
  ['BANCO-CANTABRIA-DEVOLUCION', 'EMISION', 'MANUAL', 'pain.008.xml', 95],
  ['BANCO-LEVANTE-POLIZAS', 'RECEPCION', 'AUTOMATIC', 'polizas.csv', 430],
  ['BANCO-ACME-EXTRACTO', 'RECEPCION', 'REMOTE', 'movimientos.txt', 31],
  ['BANCO-TIRRENO-TRASPASO', 'RECEPCION', 'REMOTE', 'traspasos.xml', 54],
]
/** Transfers in each hour of the day: the night's batch, a busy morning, a quiet evening. */
const BY_HOUR = [4, 3, 15, 8, 3, 4, 9, 14, 19, 24, 22, 19, 15, 9, 11, 18, 17, 13, 9, 6, 4, 4, 3, 2]
/** Every so many something goes wrong; an operator tries again and it goes well. */
const FAILS_EVERY = 12
const FAILURES = [
  { code: 'timed_out', message: '127.0.0.1 did not answer in time' },
  { code: 'connection_lost', message: 'the connection to 127.0.0.1 broke: read ECONNRESET' },
  { code: 'hash_mismatch', message: 'what arrived is not what was sent: the SHA-256 of both ends differ' },
  { code: 'remote_busy', message: 'the partner asks to try again later' },
  { code: 'receipt_late', message: 'no receipt came within 60 seconds' },
  { code: 'no_space', message: 'the disk is full' },
]

type Past = {
  habit: Habit
  at: number
  error?: { code: string; message: string } | undefined
  retryOf?: string
  /** When its files were first sent. */
  filesOf?: number
  cancelled?: boolean
  /** Of a file that is still there, so that the transfer can be retried. */
  path?: string
}

export async function writePast(store: Store, files: string, now: number): Promise<void> {
  await store.write(async (tx) => {
    let nth = 0
    const first = Math.floor(now / HOUR_MS) * HOUR_MS - 23 * HOUR_MS
    for (let hour = first; hour < now; hour += HOUR_MS) {
      const count = BY_HOUR[new Date(hour).getUTCHours()] ?? 0
      for (let k = 0; k < count; k++) {
        const at = hour + ((k + 0.4) / count) * HOUR_MS + ((nth * 7919) % 90_000)
        if (at < now - 6 * MINUTE_MS) await writeOrdinary(tx, files, at, nth++)
      }
    }
    await writeTrouble(tx, files, now)
    await writeLate(tx, now)
  })
}

async function writeOrdinary(tx: Tx, files: string, at: number, nth: number): Promise<void> {
  const habit = HABITS[(nth * 5) % HABITS.length] ?? HABITS[0]
  if (!habit) return
  const goesWrong = nth % FAILS_EVERY === 7 && habit[1] === 'EMISION'
  if (!goesWrong) return void (await write(tx, files, { habit, at, cancelled: nth % 61 === 40 }))
  const error = FAILURES[Math.floor(nth / FAILS_EVERY) % FAILURES.length]
  const failed = await write(tx, files, { habit, at, error })
  await settle(tx, failed)
  await write(tx, files, { habit, at: at + 4 * MINUTE_MS, retryOf: failed, filesOf: at })
}

/** The partner that does not answer: its last failure waits for somebody. */
async function writeTrouble(tx: Tx, files: string, now: number): Promise<void> {
  const place = { code: 'BANCO-LEJANO-COBROS', contact: SILENT, files }
  const habit: Habit = [place.code, 'EMISION', 'MANUAL', 'cobros.txt', 30]
  for (const hoursAgo of [21, 11, 0.6])
    await write(tx, files, {
      habit,
      at: now - hoursAgo * HOUR_MS,
      error: NO_ANSWER,
      path: `${folderOf(place)}/out/cobros.txt`,
    })
  const openUntil = now + 10 * MINUTE_MS
  await putHealth(tx, { contactId: SILENT, failures: 8, openUntil, error: NO_ANSWER.message }, now)
}

async function write(tx: Tx, files: string, past: Past): Promise<string> {
  const [code, direction, habitual] = past.habit
  const type = past.retryOf === undefined ? habitual : 'RETRY'
  const at = Math.floor(past.at)
  const id = newId(at)
  const to: TransferStatus = past.error ? 'FAILED' : past.cancelled ? 'CANCELLED' : 'COMPLETED'
  const file = fileOf(past, id, files, to === 'COMPLETED')
  await insertTransfer(tx, {
    id,
    channelCode: code,
    direction,
    type,
    requestedBy: type === 'MANUAL' || type === 'RETRY' ? 'luis' : null,
    retryOf: past.retryOf ?? null,
    now: at,
    files: [file],
  })
  await moveTransfer(tx, id, { from: 'PENDING', to: 'IN_PROGRESS', now: at + 80 })
  const end = at + 400 + Math.round(file.size / 2000) + (at % 3000)
  const error = past.cancelled ? { code: 'cancelled', message: 'cancelled by a reset of luis' } : past.error
  const encryption = code.includes('-ACME-') || code.startsWith('CUSTODIA')
  await moveTransfer(tx, id, { from: 'IN_PROGRESS', to, now: end, encryption, ...(error && { error }) })
  const asked: HistoryEvent = type === 'RETRY' ? 'TRANSFER_RETRIED' : 'TRANSFER_REQUESTED'
  await addHistory(tx, code, [
    ...(type === 'REMOTE' ? [] : [{ at, event: asked, detail: id }]),
    { at: at + 80, event: 'TRANSFER_STARTED', detail: id },
    ...(past.cancelled ? [{ at: end, event: 'CHANNEL_RESET' as const, detail: 'by luis' }] : []),
    { at: end, event: `TRANSFER_${to}` as const, detail: id },
  ])
  return id
}

function fileOf({ habit, path, ...past }: Past, id: string, files: string, arrived: boolean) {
  const [code, direction, , pattern, kib] = habit
  const at = past.filesOf ?? past.at
  const stamp = new Date(at).toISOString().slice(5, 16).replaceAll(/[-T:]/g, '')
  const name = path === undefined ? pattern.replace(/\.(?=[a-z]+$)/, `-${stamp}.`) : basename(path)
  const contact = (code.split('-')[1] ?? '').toLowerCase()
  const folder = `${folderOf({ code, contact, files })}/${direction === 'EMISION' ? 'out' : 'in'}`
  const found = path === undefined ? undefined : statSync(path)
  const size = found?.size ?? kib * 1024 + (Math.floor(at) % (kib * 300))
  return {
    index: 0,
    content: 'FILE' as const,
    maybeVisible: false,
    directory: 0,
    name,
    path: path ?? `${folder}/${name}`,
    size,
    modifiedAt: Math.floor(found?.mtimeMs ?? at),
    hash: arrived ? createHash('sha256').update(id).digest('hex') : null,
    phase: arrived ? ('DONE' as const) : ('WAITING' as const),
    position: arrived ? size : 0,
    keyName: name,
    keyDate: '',
    keyTime: id,
    stagedPath: null,
    wireHash: null,
    receiptReason: null,
    receiptAt: null,
    receipt: 'NONE' as const,
    actionPost: null,
    pathPost: null,
  }
}
