// The platform that the console's tests look at: partners beside us by the folder protocol, one of them gone; channels
// in every status; a day of transfers, some of which failed.

import { randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hashPassword } from '../../src/accounts/password.ts'
import type { TransferStatus } from '../../src/contract/transfer.ts'
import type { Context } from '../../src/http/context.ts'
import { applyPlatform } from '../../src/platform/apply.ts'
import type {
  Platform,
  PlatformChannel,
  PlatformUser,
} from '../../src/contract/administration/platform-file.ts'
import { addHistory } from '../../src/store/channels.ts'
import { newId } from '../../src/store/database/ids.ts'
import type { Tx } from '../../src/store/database/store.ts'
import { putHealth } from '../../src/store/partner-health.ts'
import { insertTransfer, moveTransfer } from '../../src/store/transfers/transfers.ts'
import { newFile } from '../../src/transfers/request.ts'

export const PASSWORD = 'esclusa console tests'
export const PAYROLL = 'BANCO-ACME-NOMINA'
export const BROKEN = 'BANCO-LUZ-RECIBOS'

/** One that costs no work: a real one takes as long as a page, at the making of each user and at each sign-in. */
const passwordHash = await hashPassword(PASSWORD, { memory: 8, passes: 1, parallelism: 1, tagLength: 32 })

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

const user = (
  username: string,
  name: string,
  lastName: string,
  rest: Partial<PlatformUser>,
): PlatformUser => ({
  username,
  email: `${username}@banco.example`,
  passwordHash,
  name,
  lastName,
  language: 'en',
  role: 'ROLE_ADMIN',
  ...rest,
})

export const USERS = [
  user('marta', 'Marta', 'Solís', {}),
  user('pablo', 'Pablo', 'Iturbe', { language: 'es', role: 'ROLE_OPERATOR' }),
  user('vera', 'Vera', 'Lund', { role: 'ROLE_CONTROLATOR', auths: { contactChannels: false } }),
]

function channel(code: string, contact: string, rest: Partial<PlatformChannel>): PlatformChannel {
  return { code, contact, direction: 'BIDIRECCIONAL', ...rest }
}

export function consolePlatform(files: string): Platform {
  const out = (name: string) => [
    { direction: 'EMISION' as const, filePath: join(files, name, 'out'), fileFormat: 'BINARIO' as const },
    { direction: 'RECEPCION' as const, filePath: join(files, name, 'in') },
  ]
  const folder = (name: string) => ({
    inbox: join(files, name, 'inbox'),
    outbox: join(files, name, 'outbox'),
  })
  const person = {
    name: 'Eufrasia',
    lastName: 'Zabala',
    email: 'tesoreria@acme.example',
    phone: '+34 910 000 001',
  }
  return {
    localEntities: [{ code: 'BANCO', name: 'Banco Azul' }],
    users: USERS,
    contacts: [
      {
        id: 'acme',
        name: 'Acme Industrial',
        version: '5.2',
        os: 'LINUX',
        protocol: 'folder',
        folder: folder('acme'),
        remoteCodes: [{ id: '1', code: 'ACME', name: 'Acme' }],
        remoteIPs: [{ id: '1', ipAddress: '127.0.0.1', port: 3305 }],
        contactInfo: [{ id: '1', ocupation: 'Tesorera', ...person }],
      },
      {
        id: 'luz',
        name: 'Luz del Norte',
        protocol: 'folder',
        folder: folder('luz-gone'),
        remoteCodes: [{ id: '1', code: 'LUZ', name: 'Luz' }],
      },
      {
        id: 'puerto',
        name: 'Puerto de Bilbao',
        protocol: 'folder',
        folder: folder('puerto'),
        remoteCodes: [{ id: '1', code: 'PUERTO' }],
      },
    ],
    channels: [
      channel(PAYROLL, 'acme', {
        name: 'Payroll',
        category: 'Payments',
        directories: out('payroll'),
        integrations: {
          postEmisionAction: 'EMISION_MOVE',
          postEmisionDirectory: join(files, 'payroll', 'done'),
        },
        allowSendDuplicateFiles: true,
      }),
      channel('BANCO-ACME-FACTURA', 'acme', {
        name: 'Invoices',
        category: 'Invoices',
        directories: out('invoices'),
      }),
      channel('BANCO-ACME-ADEUDO', 'acme', {
        name: 'Direct debits',
        category: 'Payments',
        deactivateChannel: true,
      }),
      channel(BROKEN, 'luz', {
        name: 'Electricity bills',
        category: 'Invoices',
        directories: out('bills'),
        allowSendDuplicateFiles: true,
      }),
      channel('BANCO-PUERTO-ADUANA', 'puerto', {
        name: 'Customs',
        category: 'Official',
        directories: out('customs'),
        connection: { advancedConfigurationConnection: { initialHour: '00:00', finishHour: '00:01' } },
      }),
      channel('BANCO-PUERTO-MANIFIESTO', 'puerto', {
        name: 'Manifests',
        category: 'Official',
        direction: 'RECEPCION',
        directories: out('manifests'),
        users: ['marta'],
      }),
    ],
  }
}

/** Puts the platform in place, its files and a day of transfers. */
export async function furnish(context: Context, files: string): Promise<void> {
  const folders = [
    'payroll/out',
    'payroll/in',
    'payroll/done',
    'invoices/out',
    'invoices/in',
    'bills/out',
    'bills/in',
  ]
  for (const folder of [...folders, 'acme/inbox', 'acme/outbox', 'puerto/inbox', 'puerto/outbox'])
    await mkdir(join(files, folder), { recursive: true })
  await writeFile(join(files, 'bills/out/bills-0001.xml'), randomBytes(40_000))
  await applyPlatform(context.store, context.seal, consolePlatform(files), { now: Date.now() - 25 * HOUR_MS })
  const health = {
    contactId: 'luz',
    failures: 4,
    openUntil: Date.now() - 1,
    error: 'the partner’s folder does not exist',
  }
  await context.store.write(async (tx) => {
    await makeHistory(tx, files)
    await putHealth(tx, health, Date.now())
  })
}

const ERRORS = [
  { code: 'connect_failed', message: 'no connection to 127.0.0.1:3305 (ECONNREFUSED)' },
  { code: 'timed_out', message: '127.0.0.1 did not answer in time' },
  { code: 'script_failed', message: 'preEmisionFile ended with exit code 3' },
]

async function makeHistory(tx: Tx, files: string): Promise<void> {
  const now = Date.now()
  for (let hour = 23; hour >= 1; hour--)
    for (let number = 0; number < 1 + ((hour * 7) % 5); number++) {
      const code = number % 2 === 0 ? PAYROLL : 'BANCO-ACME-FACTURA'
      const failed = (hour * 3 + number) % 11 === 0
      await leave(
        tx,
        files,
        code,
        failed ? 'FAILED' : 'COMPLETED',
        now - hour * HOUR_MS + number * 4 * MINUTE_MS,
      )
    }
  await leave(tx, files, BROKEN, 'FAILED', now - 20 * MINUTE_MS)
}

export async function leave(
  tx: Tx,
  files: string,
  channelCode: string,
  state: TransferStatus,
  at: number,
  name = `${channelCode.split('-')[2]?.toLowerCase()}-${at % 10_000}.txt`,
): Promise<string> {
  const id = newId(at)
  const path = join(files, 'payroll/out', name)
  const file = { directory: 0, name, path, size: 20_000 + (at % 4_000_000), modifiedAt: at }
  const made = { direction: 'EMISION', type: 'MANUAL', requestedBy: 'pablo', retryOf: null } as const
  const record = {
    ...newFile(file, 0),
    keyDate: '20260101',
    keyTime: '0000000001',
    ...(state === 'COMPLETED' && {
      phase: 'DONE' as const,
      hash: at.toString(16).padStart(64, 'a'),
      actionPost: 'EMISION_MOVE',
      pathPost: join(files, 'payroll/done', name),
    }),
  }
  await insertTransfer(tx, { id, channelCode, ...made, now: at, files: [record] })
  await moveTransfer(tx, id, { from: 'PENDING', to: 'IN_PROGRESS', now: at + 200 })
  const error = ERRORS[Math.floor(at / MINUTE_MS) % ERRORS.length] ?? ERRORS[0]
  await moveTransfer(tx, id, {
    from: 'IN_PROGRESS',
    to: state,
    now: at + 4_000,
    ...(state === 'FAILED' && error && { error }),
  })
  await addHistory(tx, channelCode, [
    { at, event: 'TRANSFER_REQUESTED', detail: id },
    { at: at + 200, event: 'TRANSFER_STARTED', detail: id },
    { at: at + 4_000, event: state === 'FAILED' ? 'TRANSFER_FAILED' : 'TRANSFER_COMPLETED', detail: id },
  ])
  return id
}
