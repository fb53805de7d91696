// A transfer as spans: one for it, and one below it for each of its files. Their ids come from the transfer's, so that
// telling a transfer twice is the same as telling it once. No file's beginning is kept: its span begins where the one
// before it ended.

import { createHash } from 'node:crypto'
import { readTraceParent } from '../../domain/trace-context.ts'
import type { TransferRecord } from '../../domain/transfer.ts'

/** In OTLP's JSON form. */
export type Span = {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: { key: string; value: { stringValue: string } | { intValue: string } }[]
  status: { code: number; message?: string }
}

export type Traced = {
  transfer: TransferRecord
  partner: string | null
  errorCode: string | undefined
  /** As the caller sent it. */
  traceparent: string | undefined
  /** When each file was told to be at its end, by name. */
  fileEnds: ReadonlyMap<string, number>
}

/** SPAN_KIND_CLIENT: we ask the partner for something; SPAN_KIND_SERVER: it asks us. */
const [INTERNAL, SERVER, CLIENT] = [1, 2, 3] as const
const [OK, ERROR] = [1, 2] as const
/** A partner may bring thousands in one transfer. */
const MOST_FILES = 1000

/** Empty where the caller says that the trace is not recorded. */
export function spansOf({ transfer, partner, errorCode, traceparent, fileEnds }: Traced): Span[] {
  const parent = traceparent === undefined ? undefined : readTraceParent(traceparent)
  if (parent?.sampled === false) return []
  const own = createHash('sha256').update(transfer.id).digest('hex')
  const traceId = parent?.traceId ?? own.slice(0, 32)
  const spanId = own.slice(32, 48)
  const began = transfer.startedAt ?? transfer.requestedAt
  const ended = Math.max(began, transfer.endedAt ?? began)
  const common = {
    'esclusa.channel': transfer.channelCode,
    'esclusa.partner': partner,
    'esclusa.direction': transfer.direction,
    'esclusa.transfer': transfer.id,
  }
  const whole: Span = {
    traceId,
    spanId,
    ...(parent && { parentSpanId: parent.spanId }),
    name: `transfer ${transfer.channelCode}`,
    kind: transfer.type === 'REMOTE' ? SERVER : CLIENT,
    ...times(began, ended),
    attributes: attributes({
      ...common,
      'esclusa.type': transfer.type,
      'esclusa.outcome': transfer.state,
      'esclusa.waited_ms': began - transfer.requestedAt,
      'esclusa.files': transfer.files.length,
      'error.type': transfer.state === 'FAILED' ? (errorCode ?? 'internal') : null,
    }),
    status:
      transfer.state === 'COMPLETED'
        ? { code: OK }
        : { code: ERROR, message: transfer.error ?? transfer.state },
  }
  return [whole, ...fileSpans(transfer, fileEnds, { traceId, parentSpanId: spanId, began, ended, common })]
}

type Around = {
  traceId: string
  parentSpanId: string
  began: number
  ended: number
  common: Record<string, string | null>
}

function fileSpans(
  { id, files }: TransferRecord,
  fileEnds: ReadonlyMap<string, number>,
  { traceId, parentSpanId, began, ended, common }: Around,
): Span[] {
  let from = began
  return files
    .map((file) => ({ file, at: fileEnds.get(file.name) }))
    .toSorted((a, b) => (a.at ?? Infinity) - (b.at ?? Infinity))
    .slice(0, MOST_FILES)
    .map(({ file, at }): Span => {
      const to = Math.min(ended, Math.max(from, at ?? ended))
      const span = {
        traceId,
        parentSpanId,
        spanId: createHash('sha256').update(`${id} ${file.index}`).digest('hex').slice(0, 16),
        name: 'file',
        kind: INTERNAL,
        ...times(from, to),
        attributes: attributes({
          ...common,
          'esclusa.file.name': file.name,
          'esclusa.file.size': file.size,
          'esclusa.outcome': file.phase,
        }),
        status: { code: at === undefined ? ERROR : OK },
      }
      from = to
      return span
    })
}

function times(from: number, to: number) {
  return { startTimeUnixNano: `${from}000000`, endTimeUnixNano: `${to}000000` }
}

function attributes(values: Record<string, string | number | null>): Span['attributes'] {
  return Object.entries(values).flatMap(([key, value]) => {
    if (value === null) return []
    return [{ key, value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value } }]
  })
}
