// Every route that a node has, the 17 operations and those beside them: who may call it, by role and flag. The routes are
// taken from the server itself, so a new one that stands in no table fails here until somebody says who it is for.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { pino } from 'pino'
import { BASE_PATH, operations } from '../../src/contract/operations.ts'
import type { Operation } from '../../src/contract/operations.ts'
import { platformOperations } from '../../src/contract/platform.ts'
import { AUTHS, ROLES } from '../../src/contract/user.ts'
import type { Auths, Role } from '../../src/contract/user.ts'
import { networksOf } from '../../src/domain/network/networks.ts'
import { addPlatformRoutes } from '../../src/http/health-and-console.ts'
import { NO_LAG } from '../../src/event-loop-lag.ts'
import { makeMetrics } from '../../src/http/metrics/route.ts'
import { EventHub } from '../../src/http/platform/events.ts'
import { buildServer } from '../../src/http/server.ts'
import { putAccount } from '../../src/store/accounts.ts'
import { closeAfter, startTestHttp } from '../support/harness.ts'
import type { TestNode } from '../support/harness.ts'
import { accountOf, CLOSED, PLAIN } from '../support/seed.ts'

const TABLE: [name: string, operation: Operation][] = [
  ...Object.entries(operations),
  ...Object.entries(platformOperations),
]
/** Beside the tables: who may call it, 'public' for anybody. */
const BESIDE: Record<string, 'public' | readonly Role[]> = {
  'GET /healthz': 'public',
  'GET /readyz': 'public',
  [`GET ${BASE_PATH}/docs`]: 'public',
  [`GET ${BASE_PATH}/openapi.json`]: 'public',
  [`GET ${BASE_PATH}/openapi-3.0.json`]: 'public',
  'GET /': 'public',
  'GET /console': 'public',
  'GET /console/*': 'public',
  'GET /metrics': ['ROLE_GLOBALADMIN', 'ROLE_ADMIN'],
  [`GET ${BASE_PATH}/events`]: ROLES.filter((role) => role !== 'ROLE_CONTROLATOR'),
}

async function wholeServer(t: TestContext) {
  const node = await startTestHttp(t)
  const app = buildServer(node.context, { log: pino({ level: 'silent' }) })
  const hub = new EventHub()
  addPlatformRoutes(app, node.context, hub).ready = true
  const nobody = { token: undefined, networks: networksOf([]) }
  const engine = () => ({ emitted: 0, received: 0, quotaRefusals: 0, lag: NO_LAG })
  makeMetrics().addRoute(app, node.context, {
    hub,
    engine,
    access: nobody,
    mostChannels: 10,
    listeners: () => Promise.resolve([]),
  })
  closeAfter(t, async () => {
    hub.close()
    await app.close()
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  return { node, url, routes: routesIn(app.printRoutes({ commonPrefix: false })) }
}

/** The server prints its routes as a tree: each branch goes on from the one above it. */
function routesIn(tree: string): string[] {
  const trail: string[] = []
  return tree.split('\n').flatMap((line) => {
    const found = /^(.*?)[├└]── (\S+)(?: \((.*)\))?$/.exec(line)
    if (!found) return []
    const [, indent = '', step = '', methods = ''] = found
    trail.length = indent.length / 4
    trail.push(step)
    const path = trail.join('').replace(/(?<!\/)\*$/, '/*')
    return methods
      .split(', ')
      .filter((method) => method !== '' && method !== 'HEAD')
      .map((method) => `${method} ${path}`)
  })
}

const routeOf = ({ method, path }: Operation) =>
  `${method} ${BASE_PATH}${path.replaceAll(/\{(\w+)\}/g, ':$1')}`

test('every route of the server stands in a table that says who may call it', async (t) => {
  const { routes } = await wholeServer(t)
  const known = [...TABLE.map(([, operation]) => routeOf(operation)), ...Object.keys(BESIDE)]
  assert.ok(routes.length >= 25)
  assert.deepEqual(routes.toSorted(), known.toSorted())
})

test('another method on a route beside the tables answers 405 and says in Allow what it takes', async (t) => {
  const { url } = await wholeServer(t)
  for (const route of Object.keys(BESIDE))
    for (const method of ['POST', 'DELETE', 'OPTIONS']) {
      const at = url + (route.split(' ')[1] ?? '').replace('*', 'assets/index.js')
      const answer = await fetch(at, { method, redirect: 'manual' })
      assert.deepEqual([answer.status, answer.headers.get('allow')], [405, 'GET, HEAD'], `${method} ${at}`)
      await answer.body?.cancel()
    }
  for (const path of ['/healthz/x', '/consoles', '/connect-back/openapiXjson', '/connect-back/docs/x'])
    assert.equal((await fetch(url + path, { method: 'POST' })).status, 404, path)
})

async function userWith(node: TestNode, role: Role, auths: Auths): Promise<string> {
  const username = `${role}-${AUTHS.map((flag) => Number(auths[flag])).join('')}`
  await node.store.write((tx) =>
    putAccount(tx, { ...accountOf(username, null), email: username, role, auths }),
  )
  return `Bearer ${await node.token(username)}`
}

async function ask(url: string, route: string, authorization: string | undefined, code = PLAIN) {
  const [method = '', path = ''] = route.split(' ')
  const filled = path.replace(':channelCode', code).replace('*', '').replaceAll(/:\w+/g, 'x')
  const answer = await fetch(url + filled, {
    method,
    redirect: 'manual',
    headers: {
      ...(authorization && { authorization }),
      ...(method !== 'GET' && { 'content-type': 'application/json' }),
    },
    ...(method !== 'GET' && { body: '{}' }),
  })
  await answer.body?.cancel()
  return answer.status
}

const flags = (on: (flag: (typeof AUTHS)[number]) => boolean) =>
  Object.fromEntries(AUTHS.map((flag) => [flag, on(flag)])) as Auths

test('each route beside the 17 lets in the roles of its table and no others, with its flag and not without', async (t) => {
  const { node, url } = await wholeServer(t)
  const beside = TABLE.filter(([, operation]) => operation.number === undefined)
  assert.ok(beside.length > 0)
  for (const role of ROLES)
    for (const on of [true, false]) {
      for (const [name, operation] of beside) {
        const { roles, auth } = operation
        const token = await userWith(
          node,
          role,
          // `administration` is off unless it is what is asked for: it includes the flags for signatures.
          flags((flag) => (flag === auth ? on : flag !== 'administration' && !on)),
        )
        const allowed = roles === 'public' || (roles.includes(role) && (auth === undefined || on))
        const status = await ask(url, routeOf(operation), token)
        assert.equal(status === 403, !allowed, `${name} as ${role} with ${auth} ${on}: ${status}`)
        assert.ok(status < 500, `${name}: ${status}`)
      }
      for (const [route, roles] of Object.entries(BESIDE)) {
        const allowed = roles === 'public' || roles.includes(role)
        const status = await ask(
          url,
          route,
          await userWith(
            node,
            role,
            flags(() => on),
          ),
        )
        assert.equal(status === 403, !allowed, `${route} as ${role}: ${status}`)
      }
    }
})

test('every route that is not public answers 401 without a token, with somebody else’s word and with a disabled user’s', async (t) => {
  const { node, url } = await wholeServer(t)
  const disabled = { ...accountOf('gone', null), role: 'ROLE_GLOBALADMIN' as const, email: 'gone@x' }
  await node.store.write((tx) => putAccount(tx, disabled))
  const token = `Bearer ${await node.token('gone')}`
  await node.store.write((tx) => putAccount(tx, { ...disabled, disabled: true }))
  const routes: [string, 'public' | readonly Role[]][] = [
    ...TABLE.map(([, operation]): [string, 'public' | readonly Role[]] => [
      routeOf(operation),
      operation.roles,
    ]),
    ...Object.entries(BESIDE),
  ]
  for (const [route, roles] of routes)
    for (const authorization of [undefined, 'Bearer x.y.z', 'Basic YTpi', token])
      assert.equal((await ask(url, route, authorization)) === 401, roles !== 'public', route)
})

test('a channel that is closed to somebody is closed on every route that names it', async (t) => {
  const { node, url } = await wholeServer(t)
  const token = `Bearer ${await node.token('advoperator')}`
  const naming = TABLE.filter(
    ([, { path, roles }]) => path.includes('{channelCode}') && roles.includes('ROLE_ADVOPERATOR'),
  )
  assert.ok(naming.length > 10)
  for (const [name, operation] of naming) {
    const status = await ask(url, routeOf(operation), token, CLOSED)
    // A body that this test cannot guess is malformed first; whoever sends a right one is told 403 all the same.
    assert.ok(status === 403 || (operation.body !== undefined && status === 400), `${name}: ${status}`)
  }
})
