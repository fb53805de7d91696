// What a node serves beside the tables of operations, for the OpenAPI document: its health, its figures, its live events
// and the documents themselves.

import { BASE_PATH } from '../../contract/operations.ts'
import { ErrorBody } from '../../contract/error-body.ts'
import { refer } from './components.ts'
import type { Json } from './components.ts'

export const OTHER_TAGS: Record<string, string> = {
  Events: 'Added by Esclusa: what happens, while it happens.',
  Health: 'Added by Esclusa: whether the node is well, and its figures. Outside the prefix of the interface.',
  Documents: 'Added by Esclusa: this document and the reference page.',
}

const errors = (codes: Record<number, string>): Json =>
  Object.fromEntries(
    Object.entries(codes).map(([code, description]) => [
      code,
      { description, content: { 'application/json': { schema: refer(ErrorBody) } } },
    ]),
  )

function read(name: string, tag: string, summary: string, more: Json): Json {
  return { get: { operationId: name, tags: [tag], summary, description: summary + '.', ...more } }
}

const isOpen = { security: [] }
const AT_THE_ROOT = { servers: [{ url: '/', description: 'The node, outside the interface’s prefix.' }] }

const EVENT = `id: 0199a7c8-0b44-7000-8000-01f45c7be203
event: transfer.completed
data: {"id":"0199a7c8-0b44-7000-8000-01f45c7be203","type":"transfer.completed","timestamp":"2026-03-02T08:30:04.125+01:00","channel":"BANCO-ACME-NOMINA","contact":"acme","data":{"transferId":"0199a7c8-0b44-7d1a-8e6f-52d94a7be203","direction":"EMISION","type":"MANUAL","requestedBy":"ana"}}

event: state
data: {"kind":"state","transferId":"0199a7c8-0b44-7d1a-8e6f-52d94a7be203","channelCode":"BANCO-ACME-NOMINA","direction":"EMISION","status":"COMPLETED","at":1772436604125}

`

const health = (value: string): Json => ({
  'application/json': {
    schema: {
      type: 'object',
      required: ['status'],
      properties: { status: { type: 'string', description: 'In one word.' } },
    },
    examples: { example: { value: { status: value } } },
  },
})

const UNCHANGED = { description: 'It is still what If-None-Match says that the caller has.' }

const document = (version: string): Json => ({
  ...isOpen,
  responses: {
    200: {
      description: `The document, OpenAPI ${version}.`,
      content: { 'application/json': { schema: { type: 'object' } } },
    },
    304: UNCHANGED,
    ...errors({ 405: 'Another method.' }),
  },
})

/** Paths under the prefix first, then those of the node itself. */
export function otherPaths(): Record<string, Json> {
  return {
    '/events': read('liveEvents', 'Events', 'Events as they happen, as server-sent events', {
      description:
        'A stream that stays open. Stored events come with their id and their type as `event`; with the header `Last-Event-ID` the stream goes on after that one (`event: gap` comes first if something in between is no longer kept; after an event that the database does not know, because a backup was restored, all that is kept follows). `event: state` tells that a transfer changed its state, and is durable before it is sent; `event: progress` tells how far one has come, and may be lost. A reader that is more than 1 MiB behind is cut off. Only what the user may see; not for ROLE_CONTROLATOR.',
      parameters: [
        {
          name: 'Last-Event-ID',
          in: 'header',
          required: false,
          schema: { type: 'string' },
          description: 'The id of the last event that was seen.',
        },
      ],
      responses: {
        200: {
          description: 'The stream.',
          content: {
            'text/event-stream': { schema: { type: 'string' }, examples: { example: { value: EVENT } } },
          },
        },
        ...errors({
          400: 'Last-Event-ID is not the id of an event.',
          401: 'No valid token.',
          403: 'The role may not see transfers.',
          503: 'Too many streams.',
        }),
      },
    }),
    '/openapi.json': read('openapi31', 'Documents', 'This document, OpenAPI 3.1', document('3.1')),
    '/openapi-3.0.json': read(
      'openapi30',
      'Documents',
      'This document, OpenAPI 3.0.3, for tools that know no 3.1',
      document('3.0.3'),
    ),
    '/docs': read('referencePage', 'Documents', 'The reference as a page for people', {
      ...isOpen,
      responses: {
        200: { description: 'The page.', content: { 'text/html': { schema: { type: 'string' } } } },
        304: UNCHANGED,
        ...errors({ 405: 'Another method.' }),
      },
    }),
    '/healthz': {
      ...AT_THE_ROOT,
      ...read('alive', 'Health', 'Whether the node is alive', {
        ...isOpen,
        responses: {
          200: { description: 'It is.', content: health('alive') },
          ...errors({ 405: 'Another method.' }),
        },
      }),
    },
    '/readyz': {
      ...AT_THE_ROOT,
      ...read('ready', 'Health', 'Whether the node takes requests', {
        ...isOpen,
        responses: {
          200: { description: 'It does.', content: health('ready') },
          503: {
            description: 'Not now: it starts, drains, or its database does not answer or cannot be written.',
            content: health('not ready'),
          },
          ...errors({ 405: 'Another method.' }),
        },
      }),
    },
    '/metrics': {
      ...AT_THE_ROOT,
      ...read('metrics', 'Health', 'Figures in Prometheus’ text form', {
        description: `For administrators, for the token in ESCLUSA_METRICS_TOKEN and for the networks in ESCLUSA_METRICS_NETWORKS. The interface itself is under ${BASE_PATH}.`,
        responses: {
          200: {
            description: 'The figures.',
            content: {
              'text/plain': {
                schema: { type: 'string' },
                examples: { example: { value: 'esclusa_event_streams 2\n' } },
              },
            },
          },
          ...errors({ 401: 'No valid token.', 403: 'For administrators alone.' }),
        },
      }),
    },
  }
}
