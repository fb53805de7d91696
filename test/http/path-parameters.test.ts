// A NUL in the path: PostgreSQL keeps none in text, so nothing can have such a name. Asked of every operation that has a
// path parameter, with a body and a query that it takes.

import assert from 'node:assert/strict'
import * as fc from 'fast-check'
import { BASE_PATH, operations } from '../../src/contract/operations.ts'
import type { Operation } from '../../src/contract/operations.ts'
import { platformOperations } from '../../src/contract/platform.ts'
import { validValue } from '../support/arbitrary.ts'
import type { Schema } from '../support/arbitrary.ts'
import { request } from '../support/call.ts'
import { testOnBoth, startTestHttp } from '../support/harness.ts'
import { PLAIN } from '../support/seed.ts'

const WITH_PARAMETERS = Object.entries<Operation>({ ...operations, ...platformOperations }).filter(
  ([, { path }]) => path.includes('{'),
)

testOnBoth('a NUL in a path parameter is malformed, or names nothing', async (t, database) => {
  const node = await startTestHttp(t, { database })
  const authorization = `Bearer ${await node.token('globaladmin')}`
  assert.ok(WITH_PARAMETERS.length > 40)
  for (const [name, { method, path, body, consumes, badCode }] of WITH_PARAMETERS)
    for (const [, spoiled = ''] of path.matchAll(/\{(\w+)\}/g)) {
      const filled = path.replaceAll(/\{(\w+)\}/g, (_, one: string) =>
        encodeURIComponent(one === spoiled ? 'a\0' : one === 'channelCode' ? PLAIN : '2026'),
      )
      const [sent] = body ? fc.sample(validValue(body as Schema, {}), { numRuns: 1, seed: 1 }) : []
      const type = consumes ?? (body && 'application/json')
      const answer = await request(node.url + BASE_PATH + filled, {
        method,
        headers: { authorization, ...(type && { 'content-type': type }) },
        body: consumes === undefined ? (body ? JSON.stringify(sent) : null) : 'octets',
      })
      const said = `${name} {${spoiled}}: ${answer.text}`
      assert.ok([400, 404].includes(answer.status), said)
      if (badCode === 400) assert.equal(answer.status, 400, said)
      assert.equal(answer.body.status, answer.status, said)
    }
})

testOnBoth('a refusal whose path has a NUL is noted all the same', async (t, database) => {
  const node = await startTestHttp(t, { database })
  const authorization = `Bearer ${await node.token('controlator')}`
  const url = `${node.url}${BASE_PATH}/integration/v2/channels/a%00-b-c/transfers/send`
  const { status } = await request(url, { method: 'POST', headers: { authorization } })
  assert.equal(status, 403)
  const noted = await node.store.db
    .selectFrom('audit')
    .select('channel_code')
    .where('action', '=', 'ACCESS_REFUSED')
    .execute()
  assert.deepEqual(noted, [{ channel_code: 'a -b-c' }])
})
