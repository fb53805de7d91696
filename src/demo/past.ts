// A day of history for the console to show: transfers that ended in the last 24 hours, with their history entries,
// written straight into the demo's own database. Marked as demo data by their paths.

import { createHash } from 'node:crypto'
import type { TransferDirection, TransferStatus, TransferType } from '../contract/transfer.ts'
import { addHistory } from '../store/channels.ts'
import type { HistoryEntry } from '../store/channels.ts'
import { newId } from '../store/ids.ts'
import type { Store, Tx } from '../store/open.ts'
import { insertTransfer, moveTransfer } from '../store/transfers.ts'

type Past = {
  code: string
  direction: TransferDirection
  type: TransferType
  name: string
  size: number
  error?: string
}

const HOUR_MS = 3_600_000

const KINDS: Past[] = [
  { code: 'BANCO-ACME-NOMINA', direction: 'EMISION', type: 'MANUAL', name: 'nomina.txt', size: 184_320 },
  { code: 'BANCO-ACME-PAGOS', direction: 'EMISION', type: 'MANUAL', name: 'pagos.xml', size: 96_256 },
  {
    code: 'BANCO-ACME-PAGOS',
    direction: 'RECEPCION',
    type: 'REMOTE',
    name: 'confirmacion.xml',
    size: 12_288,
  },
  {
    code: 'BANCO-ACME-EXTRACTO',
    direction: 'EMISION',
    type: 'AUTOMATIC',
    name: 'extracto.txt',
    size: 48_128,
  },
  { code: 'BANCO-NORTE-LISTAS', direction: 'RECEPCION', type: 'AUTOMATIC', name: 'lista.txt', size: 262_144 },
  {
    code: 'BANCO-LEJANO-COBROS',
    direction: 'EMISION',
    type: 'MANUAL',
    name: 'cobros.txt',
    size: 30_720,
    error: 'no connection to 127.0.0.1 (ECONNREFUSED)',
  },
]

/** More in working hours than at night, as such days are. */
export async function writePast(store: Store, now: number): Promise<void> {
  await store.write(async (tx) => {
    for (let hour = 23; hour >= 1; hour--) {
      const busy = 2 + Math.round(4 * Math.abs(Math.sin(((23 - hour) / 23) * Math.PI)))
      for (let nth = 0; nth < busy; nth++) {
        const kind = KINDS[(hour * 5 + nth * 3) % KINDS.length]
        if (kind && (kind.error === undefined || nth === 0))
          await writeOne(tx, kind, now - hour * HOUR_MS + nth * 540_000)
      }
    }
  })
}

async function writeOne(tx: Tx, past: Past, at: number): Promise<void> {
  const id = newId(at)
  const stampedName = past.name.replace('.', `-${new Date(at).toISOString().slice(11, 16).replace(':', '')}.`)
  const size = past.size + (at % 4096)
  await insertTransfer(tx, {
    id,
    channelCode: past.code,
    direction: past.direction,
    type: past.type,
    requestedBy: past.type === 'MANUAL' ? 'ana' : null,
    retryOf: null,
    now: at,
    files: [
      {
        index: 0,
        directory: 0,
        name: stampedName,
        path: `/demo/${past.code}/${stampedName}`,
        size,
        modifiedAt: at,
        hash: createHash('sha256').update(id).digest('hex'),
        phase: past.error === undefined ? 'DONE' : 'WAITING',
        position: past.error === undefined ? size : 0,
        keyName: stampedName,
        keyDate: '',
        keyTime: id,
        stagedPath: null,
        wireHash: null,
        receipt: 'NONE',
        actionPost: null,
        pathPost: null,
      },
    ],
  })
  const end = at + 400 + (at % 3000)
  await moveTransfer(tx, id, { from: 'PENDING', to: 'IN_PROGRESS', now: at + 80 })
  const to: TransferStatus = past.error === undefined ? 'COMPLETED' : 'FAILED'
  const error = past.error === undefined ? undefined : { message: past.error, code: 'connect_failed' }
  await moveTransfer(tx, id, {
    from: 'IN_PROGRESS',
    to,
    now: end,
    ...(error && { error }),
    encryption: past.code.endsWith('PAGOS'),
  })
  const events: HistoryEntry[] = [
    { at, event: 'TRANSFER_REQUESTED', detail: id },
    { at: at + 80, event: 'TRANSFER_STARTED', detail: id },
    { at: end, event: to === 'COMPLETED' ? 'TRANSFER_COMPLETED' : 'TRANSFER_FAILED', detail: id },
  ]
  await addHistory(tx, past.code, events)
}
