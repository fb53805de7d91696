// The two platforms of the demo: a bank with partners of every kind, and a node that plays two of those partners.
// Written as ordinary platform files, so that a reader can see how such channels are made.

import type { Platform, PlatformChannel, PlatformUser } from '../contract/administration/platform-file.ts'
import { archive, payments, payroll, simple, statements } from './channels.ts'
import type { Keys } from './channels.ts'
import type { DemoNode, DemoParts } from './demo-parts.ts'
import { CALENDARS, expectationsAt } from './expected.ts'
import { called, partnersOf } from './partners.ts'

const BANK_SECRET = 'BANKPASS'
const PARTNER_SECRET = 'ACMEPASS'

/** Each end shows its own secret and certificate and expects the other's; the certificate is also its TLS identity. */
function keysOf(own: DemoNode, localKey: string, other: DemoNode, remoteKey: string): Keys {
  return { localKey, remoteKey, rsaLocalKey: own.identity, rsaRemoteKey: other.certificate }
}

export function bankPlatform(parts: DemoParts): Platform {
  const { bank, partner, receiver, password, now } = parts
  const user = (
    username: string,
    name: string,
    lastName: string,
    rest: Pick<PlatformUser, 'language' | 'role'>,
  ) => ({
    username,
    email: `${username}@banco.example`,
    password,
    name,
    lastName,
    ...rest,
  })
  return {
    localEntities: [
      { code: 'BANCO', name: 'Banco Azul', oftp2: { id: 'O0013BANCO' } },
      { code: 'CUSTODIA', name: 'Azul Custodia', oftp2: { id: 'O0013CUSTODIA' } },
    ],
    users: [
      user('ana', 'Ana', 'Ruiz', { language: 'en', role: 'ROLE_ADMIN' }),
      user('luis', 'Luis', 'Vega', { language: 'es', role: 'ROLE_OPERATOR' }),
      user('marta', 'Marta', 'Gil', { language: 'es', role: 'ROLE_CONTROLATOR' }),
    ],
    contacts: partnersOf(parts),
    channels: bankChannels(`${bank.folder}/files`, keysOf(bank, BANK_SECRET, partner, PARTNER_SECRET), now),
    calendars: CALENDARS,
    expectations: expectationsAt(now),
    subscriptions: [
      {
        id: 'this-terminal',
        webhook: { url: `http://127.0.0.1:${receiver.port}/`, secrets: [receiver.secret] },
        events: ['transfer.failed', 'expectation.*', 'partner.*'],
      },
    ],
  }
}

function bankChannels(files: string, keys: Keys, now: Date): PlatformChannel[] {
  const at = (code: string) => ({ code, contact: (code.split('-')[1] ?? '').toLowerCase(), files })
  const plain = (code: string, name: string, category: string, more: Partial<PlatformChannel> = {}) =>
    simple(at(code), [name, category], more)
  const out = { direction: 'EMISION' } as const
  const back = { direction: 'RECEPCION', integrations: { postReceptionRename: true } } as const
  const hour = (ahead: number) => new Date(now.getTime() + ahead * 3_600_000).toISOString().slice(11, 16)
  const connection = (
    advanced: NonNullable<PlatformChannel['connection']>['advancedConfigurationConnection'],
  ) => ({
    connection: { advancedConfigurationConnection: advanced },
  })
  return [
    payroll(at('BANCO-ACME-NOMINA'), keys),
    payments(at('BANCO-ACME-PAGOS'), keys),
    statements(at('BANCO-ACME-EXTRACTO'), keys),
    plain('BANCO-ACME-DIRECT', 'Management payroll, open to Ana alone', 'Salaries', {
      ...out,
      users: ['ana'],
    }),
    archive(at('CUSTODIA-DEPOSITO-ARCHIVO'), keys, 'EMISION'),
    plain('BANCO-LEJANO-COBROS', 'Direct debits, the partner is down', 'Collections', {
      ...out,
      connection: { ips: ['127.0.0.1'], advancedConfigurationConnection: { timeout: 2, retries: 1 } },
    }),
    plain('BANCO-LEJANO-AVISOS', 'Notices, switched off', 'Collections', { ...out, deactivateChannel: true }),
    plain('BANCO-TIRRENO-CONFIRM', 'Confirmations, the partner calls', 'Payments', {
      ...out,
      ...connection({ callingEnd: 'REMOTO' }),
    }),
    plain('BANCO-TIRRENO-TRASPASO', 'Transfers between banks', 'Payments', back),
    plain('BANCO-NORTE-LISTAS', 'Price lists, fetched every five minutes', 'Lists', {
      ...back,
      automation: { every: '5m' },
    }),
    tariffs(plain('BANCO-NORTE-TARIFAS', 'Tariffs with records of 80', 'Lists', out)),
    plain('BANCO-NORTE-CIERRE', 'End of day, in its hours alone', 'Statements', {
      ...out,
      ...connection({ initialHour: hour(6), finishHour: hour(8) }),
    }),
    plain('BANCO-LEVANTE-RECIBOS', 'Insurance receipts', 'Collections', {
      ...out,
      ...connection({ retries: 0 }),
    }),
    plain('BANCO-LEVANTE-POLIZAS', 'Policies', 'Insurance', back),
    plain('BANCO-LEVANTE-SINIESTROS', 'Claims paid', 'Insurance', out),
    plain('BANCO-LAGO-SEPA', 'SEPA credit transfers', 'Payments', {
      ...out,
      automation: { watch: true },
      integrations: { postEmisionAction: 'EMISION_DELETE' },
    }),
    plain('BANCO-LAGO-RECHAZOS', 'Rejected payments', 'Payments', back),
    plain('BANCO-LAGO-EXTRACTO', 'Statements MT940', 'Statements', out),
    plain('BANCO-HANSA-SEPA', 'SEPA instant, batches', 'Payments', out),
    plain('BANCO-HANSA-DIVISAS', 'Currency confirmations', 'Treasury', back),
    plain('BANCO-HANSA-EXTRACTO', 'Statements camt.053', 'Statements', {
      ...out,
      ...connection({ initialHour: hour(-3), finishHour: hour(-1) }),
    }),
    plain('BANCO-CANTABRIA-RECIBOS', 'Electricity bills', 'Collections', {
      ...back,
      automation: { watch: true },
    }),
    plain('BANCO-CANTABRIA-DEVOLUCION', 'Returned debits', 'Collections', out),
    plain('BANCO-CANTABRIA-LECTURAS', 'Meter readings, retired', 'Lists', {
      ...out,
      deactivateChannel: true,
    }),
  ]
}

/** Every line has exactly 80 characters; what has not is refused. */
function tariffs(channel: PlatformChannel): PlatformChannel {
  const directories = channel.directories?.map((directory) => ({
    ...directory,
    fileFormat: 'FIJO' as const,
    registerLength: 80,
    delimitator: 'UNIX' as const,
  }))
  return { ...channel, directories }
}

export function partnerPlatform({ bank, partner, password }: DemoParts): Platform {
  const keys = keysOf(partner, PARTNER_SECRET, bank, BANK_SECRET)
  const at = (code: string, contact: string) => ({ code, contact, files: `${partner.folder}/files` })
  return {
    localEntities: [
      { code: 'ACME', name: 'Acme SA', oftp2: { id: 'O0013ACME' } },
      { code: 'DEPOSITO', name: 'Depósito Digital', oftp2: { id: 'O0013DEPOSITO' } },
    ],
    users: [
      {
        username: 'eva',
        email: 'eva@acme.example',
        password,
        name: 'Eva',
        lastName: 'Soto',
        language: 'en',
        role: 'ROLE_ADMIN',
      },
    ],
    contacts: [
      called('banco', 'Banco Azul', bank.oftp2TlsPort, [['Ana', 'Ruiz', 'Operations']]),
      called('custodia', 'Azul Custodia', bank.oftp2TlsPort, [['Luis', 'Vega', 'Operations']]),
    ],
    channels: [
      payroll(at('ACME-BANCO-NOMINA', 'banco'), keys),
      payments(at('ACME-BANCO-PAGOS', 'banco'), keys),
      statements(at('ACME-BANCO-EXTRACTO', 'banco'), keys),
      archive(at('DEPOSITO-CUSTODIA-ARCHIVO', 'custodia'), keys, 'RECEPCION'),
    ],
  }
}
