// W3C Trace Context, level 1: the header `traceparent` names a trace, the caller's span in it, and whether it is recorded.

const FORM = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

export type TraceParent = { traceId: string; spanId: string; sampled: boolean }

/** undefined: not one. A later version is read as this one, as the standard asks. */
export function readTraceParent(text: string): TraceParent | undefined {
  const [, traceId = '', spanId = '', flags = ''] = FORM.exec(asVersion00(text)) ?? []
  if (/^0*$/.test(traceId) || /^0*$/.test(spanId)) return undefined
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

function asVersion00(text: string): string {
  if (!/^[0-9a-f]{2}-/.test(text) || text.startsWith('ff')) return ''
  if (text.startsWith('00')) return text
  return /^[0-9a-f]{2}(-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2})(-.*)?$/.test(text)
    ? `00${text.slice(2, 55)}`
    : ''
}
