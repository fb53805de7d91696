// The OpenAPI document, made from the tables of operations: 3.1 here, and 3.0.3 made from it for tools that know no 3.1.

import { BASE_PATH } from '../../contract/operations.ts'
import type { Operation } from '../../contract/operations.ts'
import { conditionOf } from '../../contract/conditions.ts'
import { ALL_OPERATIONS, componentSchemas, refer } from './components.ts'
import type { Json } from './components.ts'
import { exampleOf, requestExample } from './examples.ts'
import { OTHER_TAGS, otherPaths } from './other-routes.ts'
import { componentExamples, HEADERS, responsesOf } from './responses.ts'

export const API_VERSION = '3.3.10'

const TAGS: Record<string, string> = {
  Login: 'Credentials for a token.',
  Channels: 'Agreed connections between a local entity and a remote one, per application.',
  Transfers: 'Files on their way over a channel.',
  Contacts: 'The partners.',
  Account: 'Added by Esclusa: the console’s sessions, one’s own account, and the first administrator.',
  Administration: 'Added by Esclusa: users, local entities, contacts, channels, keys and the platform file.',
  Audit: 'Added by Esclusa: who did what, when and from where.',
  Expectations: 'Added by Esclusa: what is due on channels, what became of it, and on which days.',
  Keys: 'Added by Esclusa: certificates and fingerprints of channels, keys made here, keys that partners propose.',
  Quarantine: 'Added by Esclusa: received files that did not pass their checks.',
  Platform: 'Added by Esclusa, read-only: what consoles show of the platform as a whole.',
  ...OTHER_TAGS,
}

export function openApiDocument(): Json {
  const paths: Record<string, Json> = {}
  for (const [name, operation] of Object.entries(ALL_OPERATIONS))
    (paths[operation.path] ??= {})[operation.method.toLowerCase()] = describe(name, operation)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Channel Integration API',
      version: API_VERSION,
      description: ABOUT,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      contact: { name: 'Whoever runs this node' },
    },
    servers: [{ url: BASE_PATH, description: 'The node that serves this document.' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    security: [{ bearer: [] }],
    paths: { ...paths, ...otherPaths() },
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description:
            'A token of a login, HS512, valid for two hours, or one made by `esclusa token create`.',
        },
      },
      headers: HEADERS,
      schemas: componentSchemas(),
      examples: componentExamples(Object.values(ALL_OPERATIONS)),
    },
  }
}

const ABOUT = `Channels, transfers, contacts and login of an Esclusa node.

Checks come in this order: 401; 403 for the role or permission; 400 for a malformed path, query or body; 404; 403 for a channel that is not open to the user; 409. A request that is answered with a 4xx has changed nothing. Every error has the body ErrorBody. Fields without a value are left out, never null.`

function describe(name: string, operation: Operation): Json {
  return {
    operationId: name,
    tags: [operation.tag],
    summary: operation.summary,
    description: [operation.details, accessOf(operation), codesOf(name, operation)]
      .filter(Boolean)
      .join('\n\n'),
    ...(operation.deprecated && { deprecated: true }),
    ...(operation.roles === 'public' && { security: [] }),
    parameters: [
      ...parametersOf(operation.params, 'path', () => true),
      ...parametersOf(operation.query, 'query', (one) => operation.requiredQuery?.includes(one) ?? false),
    ],
    ...(operation.body && { requestBody: requestBody(name, operation.body) }),
    ...(operation.consumes !== undefined && { requestBody: octets(operation.consumes) }),
    responses: responsesOf(name, operation),
  }
}

function requestBody(name: string, body: unknown): Json {
  const examples = { example: { value: requestExample(name, body) } }
  return { required: true, content: { 'application/json': { schema: refer(body), examples } } }
}

function octets(type: string): Json {
  const schema = { type: 'string', format: 'binary', description: 'The file’s octets.' }
  return { required: true, content: { [type]: { schema } } }
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

function codesOf(name: string, { codes }: Operation): string {
  return codes.map((code) => `- **${code}** ${conditionOf(name, code)}`).join('\n')
}

function parametersOf(
  schema: unknown,
  where: 'path' | 'query',
  isRequired: (name: string) => boolean,
): Json[] {
  const { properties = {} } = (schema ?? {}) as { properties?: Record<string, Json> }
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...rest } = refer(property) as Json
    const example = exampleOf(property, name)
    return { name, in: where, required: isRequired(name), description, schema: rest, example }
  })
}
