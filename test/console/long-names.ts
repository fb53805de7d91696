// Names as long as they may be, and without a place to break them: what the pages must bear.

import type { RunningNode } from '../../src/main.ts'
import { applyPlatform } from '../../src/platform/apply.ts'
import type { TestNode } from '../support/harness.ts'
import { consolePlatform, leave } from './platform.ts'

const long = (letter: string, length = 120) => letter.repeat(length)
const ENTITY = long('E', 32)
const REMOTE = long('R', 32)
const NAMES = {
  entity: ENTITY,
  contact: long('c', 64),
  calendar: long('k', 64),
  subscription: long('s', 64),
  expectation: long('x', 64),
  code: `${ENTITY}-${REMOTE}-${long('A', 32)}`,
}

export async function addLongNames({ context, files }: TestNode & RunningNode) {
  const { entity, contact, calendar, subscription, expectation, code } = NAMES
  const platform = {
    localEntities: [{ code: entity, name: long('Entidad') }],
    users: (consolePlatform(files).users ?? []).map((user) => ({
      ...user,
      name: long('N'),
      lastName: long('L'),
    })),
    contacts: [
      {
        id: contact,
        name: long('P'),
        version: long('V', 60),
        os: long('O', 60),
        protocol: 'folder' as const,
        folder: { inbox: `${files}/acme/inbox`, outbox: `${files}/acme/outbox` },
        remoteCodes: [{ id: '1', code: REMOTE, name: long('R') }],
        contactInfo: [
          {
            id: '1',
            name: long('N'),
            lastName: long('A'),
            ocupation: long('O'),
            email: `${long('m')}@x.example`,
          },
        ],
      },
    ],
    channels: [
      {
        code,
        contact,
        direction: 'BIDIRECCIONAL' as const,
        name: long('C'),
        category: long('K'),
        version: long('V'),
        directories: [{ direction: 'EMISION' as const, filePath: `${files}/${long('d')}` }],
      },
    ],
    calendars: [{ id: calendar, closed: ['2026-12-24'] }],
    subscriptions: [
      { id: subscription, mail: { to: [`${long('m', 60)}@x.example`] }, events: ['transfer.failed'] },
    ],
    expectations: [
      {
        id: expectation,
        channel: code,
        direction: 'EMISION' as const,
        by: '23:59',
        files: long('f'),
        calendar,
      },
    ],
  }
  const now = Date.now()
  await applyPlatform(context.store, context.seal, platform, { now })
  const transferId = await context.store.write((tx) =>
    leave(tx, files, code, 'FAILED', now - 60_000, `${long('f')}.txt`),
  )
  return { ...NAMES, transferId }
}
