// Every body and every parameter with generated values, made from the schemas: whatever comes in, never a fault of
// the node, never a changed row after a refusal, and a message that names the field.

import assert from 'node:assert/strict'
import * as fc from 'fast-check'
import { operations } from '../../src/contract/operations.ts'
import type { Operation, OperationName } from '../../src/contract/operations.ts'
import { anything, placesOf, spoil, validValue } from '../support/arbitrary.ts'
import type { Hints, Schema } from '../support/arbitrary.ts'
import type { Answer, CallOptions } from '../support/call.ts'
import { startTestHttp, testOnBoth } from '../support/harness.ts'
import type { TestNode } from '../support/harness.ts'
import { allRows } from '../support/rows.ts'
import { CLOSED, FULL, PLAIN, SECRETS } from '../support/seed.ts'

const names = Object.keys(operations) as OperationName[]
const withBody = names.filter((name) => 'body' in operations[name] && operations[name].roles !== 'public')
const withQuery = names.filter((name) => 'query' in operations[name])
const RUNS = { numRuns: Number(process.env.FUZZ_RUNS ?? (process.env.ESCLUSA_LONG === '1' ? 400 : 25)) }
/** What a node's rows were when something was last refused, or read: reading every table costs more than the call. */
const rowsOf = new WeakMap<TestNode, Awaited<ReturnType<typeof allRows>>>()

// Made once: each table of all characters takes half a second.
const TEXT = fc.string({ unit: 'binary', maxLength: 30 })
const PATH_TEXT = fc.string({ unit: 'binary', minLength: 1, maxLength: 40 })

function hintsFor(node: TestNode): Hints {
  const paths = fc.constantFrom(node.files, `${node.files}/out`)
  const none = fc.constant(null)
  const addresses = fc.uniqueArray(fc.oneof(fc.ipV4(), fc.ipV6()), { maxLength: 3 })
  return {
    filePath: paths,
    path: fc.constantFrom(node.files, `${node.files}/out`),
    postReceptionDirectory: paths,
    postEmisionDirectory: paths,
    localEntity: fc.constant('BANCO'),
    remoteEntity: fc.constant('ACME'),
    application: fc.constant('FACTURA'),
    ips: addresses,
    proxyIps: addresses,
    users: fc.constantFrom([], null, ['operator', 'advoperator']),
    localKey: fc.constantFrom(SECRETS.localKey, ' ', null),
    remoteKey: fc.constantFrom(SECRETS.remoteKey, ' ', null),
    rsaLocalKey: fc.constantFrom(SECRETS.rsaLocalKey, null),
    rsaRemoteKey: fc.constantFrom(SECRETS.rsaRemoteKey, null),
    // The contact is an OFTP2 partner, and no cipher suite of OFTP2 has the other.
    confidentiality: fc.constant('AES-256-CBC'),
    fileFormat: fc.constantFrom('BINARIO', 'HIBRIDO', 'VARIABLE'),
    postEmisionAction: fc.constantFrom('EMISION_NO', 'EMISION_DELETE', null),
    postReceptionAction: fc.constantFrom('RECEPTION_NO', null),
    ...Object.fromEntries(
      ['exceptionFile', 'preEmisionFile', 'preReceptionFile', 'postReceptionFile', 'postEmisionFile'].map(
        (name) => [name, none],
      ),
    ),
  }
}

/** Calls, and looks that a refusal changed nothing and that nothing is a fault of the node. */
async function checked(node: TestNode, name: OperationName, options: CallOptions): Promise<Answer> {
  const before = rowsOf.get(node) ?? (await allRows(node.store))
  rowsOf.delete(node)
  const answer = await node.call(name, options)
  const said = `${name} ${JSON.stringify(options).slice(0, 300)}: ${answer.text.slice(0, 300)}`
  assert.ok(answer.status < 500, said)
  if (answer.status >= 400) {
    const after = await allRows(node.store)
    assert.deepEqual(after, before, said)
    rowsOf.set(node, after)
    assert.equal(answer.body.status, answer.status, said)
    assert.ok(answer.body.message.length > 0, said)
  } else if (operations[name].method === 'GET') rowsOf.set(node, before)
  return answer
}

testOnBoth('bodies made from the schemas are accepted', async (t, database) => {
  const node = await startTestHttp(t, { database })
  for (const name of withBody) {
    const valid = validValue(
      (operations[name] as Operation).body as Schema,
      hintsFor(node),
      name === 'updateIps' ? 'ips' : '',
    )
    await fc.assert(
      fc.asyncProperty(valid, async (body) => {
        const answer = await checked(node, name, { code: PLAIN, body })
        assert.equal(answer.status, 200, `${name} ${JSON.stringify(body)}: ${answer.text}`)
      }),
      { numRuns: Math.ceil(RUNS.numRuns / 2) },
    )
  }
})

testOnBoth(
  'bodies with one wrong field are refused by that field’s name, or it was not wrong',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    for (const name of withBody) {
      const schema = (operations[name] as Operation).body as Schema
      const spoiled = fc.tuple(
        validValue(schema, hintsFor(node)),
        fc.constantFrom(...placesOf(schema)),
        anything,
      )
      await fc.assert(
        fc.asyncProperty(spoiled, async ([body, place, by]) => {
          const answer = await checked(node, name, { code: PLAIN, body: spoil(body, place, by) })
          if (answer.status === 200) return
          assert.equal(answer.status, 400)
          const field = place.findLast((step) => step !== '*') ?? '0'
          // What is wrong may lie deeper, or (a value that needs another) beside it; it is named by pointer either way.
          assert.match(answer.body.message, /^(\/\S|the body )/, answer.text)
          if (typeof by !== 'object')
            assert.ok(
              answer.body.message.includes(field) || place[0] === 'integrations',
              `${place.join('/')}: ${answer.text}`,
            )
        }),
        RUNS,
      )
    }
  },
)

testOnBoth('bodies of any form at all', async (t, database) => {
  const node = await startTestHttp(t, { database })
  for (const name of [...withBody, 'resetChannel', 'retryTransfer', 'sendTransfer'] as OperationName[])
    await fc.assert(
      fc.asyncProperty(
        anything,
        fc.constantFrom(PLAIN, FULL, CLOSED, 'NO-SUCH-ONE'),
        fc.constantFrom('globaladmin', 'advoperator', 'operator'),
        async (body, code, as) => {
          await checked(node, name, { as, code, body })
        },
      ),
      { numRuns: Math.ceil(RUNS.numRuns / 2) },
    )
})

testOnBoth('bytes that are no JSON', async (t, database) => {
  const node = await startTestHttp(t, { database })
  const types = fc.constantFrom(
    'application/json',
    'application/json; charset=utf-16',
    'text/plain',
    'x/y; z',
    '',
  )
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ maxLength: 60 }),
      types,
      fc.constantFrom(...withBody),
      async (bytes, type, name) => {
        const answer = await checked(node, name, {
          code: PLAIN,
          raw: new Uint8Array(bytes),
          headers: { 'content-type': type },
        })
        if (bytes.length > 0 && answer.status === 200) JSON.parse(Buffer.from(bytes).toString())
      },
    ),
    RUNS,
  )
})

testOnBoth('queries: known parameters are refused by name, or they were right', async (t, database) => {
  const node = await startTestHttp(t, { database })
  const text = fc.oneof(
    TEXT,
    fc.constantFrom(
      '1',
      '0',
      '-1',
      '1e9',
      '2147483647',
      '2026-01-01',
      'acme',
      '\0',
      '9'.repeat(40),
      'x'.repeat(300),
    ),
  )
  for (const name of withQuery) {
    const known = Object.keys(((operations[name] as Operation).query as Schema).properties ?? {})
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...known), text, async (parameter, value) => {
        const answer = await checked(node, name, {
          code: PLAIN,
          query: { [parameter]: value.toWellFormed() },
        })
        if (answer.status !== 200)
          assert.ok(answer.status === 400 && answer.body.message.includes(parameter), answer.text)
      }),
      RUNS,
    )
    await fc.assert(
      fc.asyncProperty(fc.dictionary(text, text, { maxKeys: 4 }), async (query) => {
        const wellFormed = Object.entries(query).map(([key, value]) => [
          key.toWellFormed(),
          value.toWellFormed(),
        ])
        await checked(node, name, {
          code: PLAIN,
          query: Object.fromEntries(wellFormed) as Record<string, string>,
        })
      }),
      { numRuns: Math.ceil(RUNS.numRuns / 2) },
    )
  }
})

testOnBoth('path values', async (t, database) => {
  const node = await startTestHttp(t, { database })
  const code = fc.oneof(
    PATH_TEXT,
    fc.stringMatching(/^[A-Z]{1,3}-[A-Z]{1,3}-[A-Z]{1,3}$/),
    fc.constantFrom(PLAIN, 'a-b-c\0', '%', '..', 'x'.repeat(5000)),
  )
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...names.filter((name) => operations[name].path.includes('{'))),
      code,
      code,
      async (name, one, two) => {
        // A lone dot or two is taken out of a path before it is sent.
        if (/^\.{1,2}$/.test(one) || /^\.{1,2}$/.test(two)) return
        await checked(node, name, { code: one.toWellFormed(), transferId: two.toWellFormed() })
      },
    ),
    { numRuns: RUNS.numRuns * 3 },
  )
})

testOnBoth('headers and logins', async (t, database) => {
  const node = await startTestHttp(t, { database })
  const printable = fc.string({ maxLength: 60 }).map((text) => text.replaceAll(/[^\x20-\x7e]/g, '.'))
  await fc.assert(
    fc.asyncProperty(printable, async (value) => {
      const answer = await checked(node, 'listChannels', { as: null, headers: { authorization: value } })
      assert.equal(answer.status, 401)
      assert.equal(
        (await checked(node, 'listChannels', { as: null, headers: { authorization: `Bearer ${value}` } }))
          .status,
        401,
      )
    }),
    RUNS,
  )
  for (const name of ['loginV1', 'loginV2'] as const)
    await fc.assert(
      fc.asyncProperty(fc.oneof(validValue(operations[name].body as Schema, {}), anything), async (body) => {
        const { status } = await checked(node, name, { as: null, body })
        assert.ok([400, 401, 429].includes(status), String(status))
      }),
      { numRuns: Math.ceil(RUNS.numRuns / 2) },
    )
})
