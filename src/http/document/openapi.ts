// The OpenAPI 3.1 document, made from the table of operations. Named shapes become components: each is written once,
// and referred to wherever the same schema object is used in the table.

import { AuditChange, AuditEntry, AuditPage, AuditVerification } from '../../contract/audit.ts'
import {
  Channel,
  ChannelHistory,
  ChannelPath,
  ChannelStatus,
  Connection,
  Directory,
  Integration,
  Planning,
  Security,
} from '../../contract/channel.ts'
import { Contact, ContactPerson } from '../../contract/contact.ts'
import { ErrorBody } from '../../contract/error-body.ts'
import { BASE_PATH, operations } from '../../contract/operations.ts'
import type { Operation } from '../../contract/operations.ts'
import {
  ActiveTransfer,
  ChannelFilters,
  ChannelSummary,
  FailedTransfer,
  FileProgress,
  Hour,
  Overview,
  platformOperations,
  Session,
  TransferFacts,
  UnreachablePartner,
} from '../../contract/platform.ts'
import { TransferSearch, TransferSummary } from '../../contract/transfer-search.ts'
import { Transfer, TransferFile } from '../../contract/transfer.ts'
import { LoginResponseV1, LoginResponseV2, LoginV1, LoginV2 } from '../../contract/user.ts'
import { STATUS_CODES } from '../status-codes.ts'

export const API_VERSION = '3.3.10'

const COMPONENTS = {
  Channel,
  Connection,
  Directory,
  Integration,
  Security,
  Planning,
  ChannelPath,
  ChannelStatus,
  ChannelHistory,
  Transfer,
  TransferFile,
  Contact,
  ContactPerson,
  LoginV1,
  LoginV2,
  LoginResponseV1,
  LoginResponseV2,
  ErrorBody,
  Session,
  Overview,
  ActiveTransfer,
  FailedTransfer,
  Hour,
  UnreachablePartner,
  ChannelSummary,
  ChannelFilters,
  TransferFacts,
  FileProgress,
  TransferSummary,
  TransferSearch,
  AuditChange,
  AuditEntry,
  AuditPage,
  AuditVerification,
}

/** The interface first, then what the node adds, under its own tag. */
const ALL_OPERATIONS: Record<string, Operation> = { ...operations, ...platformOperations }

type Json = { [key: string]: unknown }

export function openApiDocument(): Json {
  const names = new Map<unknown, string>(Object.entries(COMPONENTS).map(([name, schema]) => [schema, name]))
  const paths: Record<string, Json> = {}
  for (const [name, operation] of Object.entries(ALL_OPERATIONS))
    (paths[operation.path] ??= {})[operation.method.toLowerCase()] = describe(name, operation, names)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Channel Integration API',
      version: API_VERSION,
      description: 'Channels, transfers, contacts and login of an Esclusa node.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: BASE_PATH }],
    tags: [...new Set(Object.values(ALL_OPERATIONS).map((operation) => operation.tag))].map((name) => ({
      name,
      description: TAGS[name],
    })),
    security: [{ bearer: [] }],
    paths,
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
      schemas: Object.fromEntries(
        Object.entries(COMPONENTS).map(([name, schema]) => [name, refer(schema, names, true)]),
      ),
    },
  }
}

const TAGS: Record<string, string> = {
  Login: 'Credentials for a token.',
  Channels: 'Agreed connections between a local entity and a remote one, per application.',
  Transfers: 'Files on their way over a channel.',
  Contacts: 'The partners.',
  Audit: 'Added by Esclusa: who did what, when and from where.',
  Platform: 'Added by Esclusa, read-only: what consoles show of the platform as a whole.',
}

function describe(name: string, operation: Operation, names: Map<unknown, string>): Json {
  return {
    operationId: name,
    tags: [operation.tag],
    summary: operation.summary,
    description: accessOf(operation),
    ...(operation.deprecated && { deprecated: true }),
    ...(operation.roles === 'public' && { security: [] }),
    parameters: [
      ...parametersOf(operation.params, 'path', names),
      ...parametersOf(operation.query, 'query', names),
    ],
    ...(operation.body && { requestBody: { required: true, content: json(refer(operation.body, names)) } }),
    responses: {
      200: { description: 'Done', content: contentOf(operation, refer(operation.ok, names)) },
      ...Object.fromEntries(
        operation.codes.map((code) => [
          code,
          { description: STATUS_CODES[code], content: json(refer(ErrorBody, names)) },
        ]),
      ),
    },
  }
}

function accessOf(operation: Operation): string {
  if (operation.roles === 'public') return 'Needs no token.'
  const flag = operation.auth ? `, with the permission ${operation.auth}` : ''
  const { inPart } = operation
  const others = inPart
    ? ` ${inPart.roles.join(', ')}, with the permission ${inPart.auth}, for ${inPart.of} alone.`
    : ''
  return `Roles: ${operation.roles.join(', ')}${flag}.${others}`
}

function parametersOf(schema: unknown, where: 'path' | 'query', names: Map<unknown, string>): Json[] {
  const { properties = {} } = (schema ?? {}) as { properties?: Record<string, Json> }
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...rest } = refer(property, names) as Json
    return { name, in: where, required: where === 'path', description, schema: rest }
  })
}

function contentOf({ produces = ['application/json'] }: Operation, schema: unknown): Json {
  return Object.fromEntries(produces.map((type) => [type, { schema }]))
}

function json(schema: unknown): Json {
  return { 'application/json': { schema } }
}

/** A plain copy in which every named schema is a reference. */
function refer(value: unknown, names: Map<unknown, string>, isDefinition = false): unknown {
  const name = names.get(value)
  if (name && !isDefinition) return { $ref: `#/components/schemas/${name}` }
  if (Array.isArray(value)) return value.map((item) => refer(item, names))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, refer(item, names)]))
}
