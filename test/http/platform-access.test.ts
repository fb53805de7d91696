// Who may call what of the operations that the node adds: the matrix of roles and flags, made from the table.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BASE_PATH } from '../../src/contract/operations.ts'
import type { Operation } from '../../src/contract/operations.ts'
import { platformOperations } from '../../src/contract/platform.ts'
import type { PlatformOperationName } from '../../src/contract/platform.ts'
import { AUTHS, ROLES } from '../../src/contract/user.ts'
import type { Auth, Auths, Role } from '../../src/contract/user.ts'
import { SIGNATURE_AUTHS } from '../../src/domain/user.ts'
import { putAccount } from '../../src/store/accounts.ts'
import { callPlatform, request } from '../support/call.ts'
import type { PlatformGiven } from '../support/call.ts'
import { startTestHttp } from '../support/harness.ts'
import type { TestNode } from '../support/harness.ts'
import { accountOf, PLAIN } from '../support/seed.ts'

/** Calls that pass or fail on access alone, as far as an operation needs more than its path. */
const GIVEN: Partial<Record<PlatformOperationName, PlatformGiven>> = {
  createToken: { body: { user: 'operator', hours: 1 } },
  revokeToken: { params: { tokenId: 'x' } },
  previewSend: { params: { channelCode: PLAIN } },
  uploadFile: { params: { channelCode: PLAIN, fileName: '.hidden' } },
  cancelTransfer: { params: { channelCode: PLAIN, transferId: 'x' }, body: {} },
  resendTransfer: { params: { channelCode: PLAIN, transferId: 'x' }, body: { comment: 'why' } },
  downloadFile: { params: { channelCode: PLAIN, transferId: 'x', fileIndex: '0' } },
  endOwnSession: { params: { sessionId: 'x' } },
  changeOwnPassword: { body: { current: 'x', password: 'x' } },
  changeOwnLanguage: { body: { language: 'es' } },
  fetchTransfer: { params: { channelCode: PLAIN } },
  transferFacts: { params: { channelCode: PLAIN, transferId: 'x' } },
  channelHistoryFacts: { params: { channelCode: PLAIN } },
  readUser: { params: { username: 'operator' } },
  createUser: { body: { username: 'eva', email: 'eva@b.es', role: 'ROLE_OPERATOR' } },
  changeUser: { params: { username: 'operator' }, body: { email: 'o@b.es', role: 'ROLE_OPERATOR' } },
  setUserPassword: { params: { username: 'operator' }, body: { password: null } },
  removeUser: { params: { username: 'operator' } },
  readEntity: { params: { code: 'BANCO' } },
  createEntity: { body: { code: 'SEDE', name: 'Sede' } },
  changeEntity: { params: { code: 'BANCO' }, body: { name: 'Banco' } },
  removeEntity: { params: { code: 'BANCO' } },
  readCalendar: { params: { calendarId: 'x' } },
  readSubscription: { params: { subscriptionId: 'x' } },
  readExpectation: { params: { expectationId: 'x' } },
  readContact: { params: { contactId: 'acme' } },
  createContact: { body: { id: 'gamma' } },
  changeContact: { params: { contactId: 'beta' }, body: { remoteCodes: [{ code: 'BETA' }] } },
  removeContact: { params: { contactId: 'beta' } },
  testContact: { params: { contactId: 'nobody' } },
  channelSetup: { params: { channelCode: PLAIN } },
  createChannel: { body: { code: 'BANCO-ACME-NEW', contact: 'acme' } },
  copyChannel: { params: { channelCode: PLAIN }, body: { code: 'BANCO-ACME-COPY' } },
  changeChannelSetup: { params: { channelCode: PLAIN }, body: {} },
  setAutomation: { params: { channelCode: PLAIN }, body: {} },
  removeChannel: { params: { channelCode: PLAIN } },
  channelKeys: { params: { channelCode: PLAIN } },
  inspectKey: { body: { pem: 'x' } },
  generateChannelKey: { params: { channelCode: PLAIN }, body: { bits: 2048 } },
  acceptProposedKey: { params: { keyId: 'x' }, body: { fingerprint: 'ab'.repeat(32) } },
  refuseProposedKey: { params: { keyId: 'x' } },
  downloadQuarantined: { params: { fileId: 'x' } },
  releaseQuarantined: { params: { fileId: 'x' } },
  discardQuarantined: { params: { fileId: 'x' } },
  applyPlatformFile: { query: { dryRun: 'true' }, body: { file: '{}' } },
}

async function call(node: TestNode, name: PlatformOperationName, as: string) {
  return callPlatform(node, name, as, GIVEN[name])
}

const names = (Object.keys(platformOperations) as PlatformOperationName[]).filter(
  (name) => (platformOperations[name] as Operation).roles !== 'public',
)

for (const name of names)
  test(`${name}: every role, with its flag on and off`, async (t) => {
    const node = await startTestHttp(t)
    const operation: Operation = platformOperations[name]
    for (const role of ROLES)
      for (const on of [true, false]) {
        const username = `${role}-${on}`
        // Every flag but the one in question says the opposite, so that none stands in for another.
        const auths = Object.fromEntries(
          AUTHS.map((flag) => [flag, flag === operation.auth ? on : !on && !includes(flag, operation.auth)]),
        ) as Auths
        await node.store.write((tx) =>
          putAccount(tx, { ...accountOf(username, null), email: username, role, auths }),
        )
        const { status, text } = await call(node, name, username)
        const allowed =
          (operation.roles as readonly Role[]).includes(role) && (operation.auth === undefined || on)
        assert.equal(status === 403, !allowed, `${role} with ${operation.auth} ${on}: ${status} ${text}`)
        assert.ok(status < 500, text)
      }
  })

/** `administration` includes the flags for signatures; a test below sees to that. */
function includes(flag: Auth, wanted: Auth | undefined): boolean {
  return flag === 'administration' && wanted !== undefined && SIGNATURE_AUTHS.includes(wanted)
}

for (const name of names.filter((one) =>
  includes('administration', (platformOperations[one] as Operation).auth),
))
  test(`${name}: administration is as good as its flag`, async (t) => {
    const node = await startTestHttp(t)
    const auths = Object.fromEntries(AUTHS.map((flag) => [flag, flag === 'administration'])) as Auths
    const account = { ...accountOf('boss', null), role: 'ROLE_ADMIN' as const, auths }
    await node.store.write((tx) => putAccount(tx, account))
    const { status, text } = await call(node, name, 'boss')
    assert.notEqual(status, 403, text)
    assert.ok(status < 500, text)
  })

test('without a token every operation that is not public answers 401', async (t) => {
  const node = await startTestHttp(t)
  for (const name of names) {
    const operation: Operation = platformOperations[name]
    const { status } = await request(`${node.url}${BASE_PATH}${operation.path.replaceAll(/[{}]/g, '')}`, {
      method: operation.method,
    })
    assert.equal(status, 401, name)
  }
})
