// The two platforms of the demo: a bank and a company that is its partner, and two more partners to show what trouble
// looks like. Written as ordinary platform files, so that a reader can see how such channels are made.

export type DemoNode = {
  folder: string
  httpPort: number
  oftp2Port: number
  oftp2TlsPort: number
  /** PEM: key and certificate, the certificate alone. */
  identity: string
  certificate: string
}

export type DemoParts = { bank: DemoNode; partner: DemoNode; closedPort: number; password: string; now: Date }

type Keys = { localKey: string; remoteKey: string; rsaLocalKey: string; rsaRemoteKey: string }

const BANK_SECRET = 'BANKPASS'
const PARTNER_SECRET = 'ACMEPASS'

/** Each end shows its own secret and certificate and expects the other's; the certificate is also its TLS identity. */
function keysOf(own: DemoNode, localKey: string, other: DemoNode, remoteKey: string): Keys {
  return { localKey, remoteKey, rsaLocalKey: own.identity, rsaRemoteKey: other.certificate }
}

export function bankPlatform({ bank, partner, closedPort, password, now }: DemoParts): object {
  const files = `${bank.folder}/files`
  const keys = keysOf(bank, BANK_SECRET, partner, PARTNER_SECRET)
  const hour = (ahead: number) => new Date(now.getTime() + ahead * 3_600_000).toISOString().slice(11, 16)
  return {
    localEntities: [{ code: 'BANCO', name: 'Banco Azul', oftp2: { id: 'O0013BANCO' } }],
    users: [
      {
        username: 'ana',
        email: 'ana@banco.example',
        password,
        name: 'Ana',
        lastName: 'Ruiz',
        language: 'en',
        role: 'ROLE_ADMIN',
      },
      {
        username: 'luis',
        email: 'luis@banco.example',
        password,
        name: 'Luis',
        lastName: 'Vega',
        language: 'es',
        role: 'ROLE_OPERATOR',
      },
      {
        username: 'marta',
        email: 'marta@banco.example',
        password,
        name: 'Marta',
        lastName: 'Gil',
        language: 'es',
        role: 'ROLE_CONTROLATOR',
      },
    ],
    contacts: [
      contact('acme', 'Acme SA', 'ACME', partner.oftp2TlsPort),
      contact('lejano', 'Transportes Lejano', 'LEJANO', closedPort),
      {
        id: 'norte',
        name: 'Cooperativa Norte',
        os: 'LINUX',
        remoteCodes: [{ id: 'n1', code: 'NORTE', name: 'Norte' }],
        protocol: 'folder',
        folder: { inbox: `${bank.folder}/norte/in`, outbox: `${bank.folder}/norte/out` },
      },
    ],
    channels: [
      payroll('BANCO-ACME-NOMINA', 'acme', files, keys),
      payments('BANCO-ACME-PAGOS', 'acme', files, keys),
      statements('BANCO-ACME-EXTRACTO', 'acme', files, keys),
      {
        code: 'BANCO-LEJANO-COBROS',
        contact: 'lejano',
        name: 'Direct debits to a partner that is down',
        category: 'Collections',
        direction: 'EMISION',
        connection: { ips: ['127.0.0.1'], advancedConfigurationConnection: { timeout: 2, retries: 1 } },
        directories: [{ direction: 'EMISION', filePath: `${files}/cobros/out` }],
      },
      {
        code: 'BANCO-LEJANO-AVISOS',
        contact: 'lejano',
        name: 'Notices, switched off',
        category: 'Collections',
        direction: 'EMISION',
        deactivateChannel: true,
        directories: [{ direction: 'EMISION', filePath: `${files}/avisos/out` }],
      },
      {
        code: 'BANCO-NORTE-CIERRE',
        contact: 'norte',
        name: 'End of day, open only in its hours',
        category: 'Statements',
        direction: 'EMISION',
        connection: { advancedConfigurationConnection: { initialHour: hour(6), finishHour: hour(8) } },
        directories: [{ direction: 'EMISION', filePath: `${files}/cierre/out` }],
      },
      {
        code: 'BANCO-NORTE-LISTAS',
        contact: 'norte',
        name: 'Price lists with records of 80',
        category: 'Lists',
        direction: 'BIDIRECCIONAL',
        automation: { every: '5m' },
        integrations: {
          postEmisionAction: 'EMISION_MOVE',
          postEmisionDirectory: `${files}/listas/sent`,
          postEmisionRename: true,
        },
        directories: [
          {
            direction: 'EMISION',
            filePath: `${files}/listas/out`,
            fileFormat: 'FIJO',
            registerLength: 80,
            delimitator: 'UNIX',
          },
          { direction: 'RECEPCION', filePath: `${files}/listas/in` },
        ],
      },
    ],
  }
}

export function partnerPlatform({ bank, partner, password }: DemoParts): object {
  const files = `${partner.folder}/files`
  const keys = keysOf(partner, PARTNER_SECRET, bank, BANK_SECRET)
  return {
    localEntities: [{ code: 'ACME', name: 'Acme SA', oftp2: { id: 'O0013ACME' } }],
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
    contacts: [contact('banco', 'Banco Azul', 'BANCO', bank.oftp2TlsPort)],
    channels: [
      payroll('ACME-BANCO-NOMINA', 'banco', files, keys),
      payments('ACME-BANCO-PAGOS', 'banco', files, keys),
      statements('ACME-BANCO-EXTRACTO', 'banco', files, keys),
    ],
  }
}

function contact(id: string, name: string, code: string, port: number): object {
  return {
    id,
    name,
    version: '1.0',
    os: 'LINUX',
    remoteCodes: [{ id: `${id}-code`, code, name }],
    remoteIPs: [{ id: `${id}-ip`, ipAddress: '127.0.0.1', port }],
    contactInfo: [
      {
        id: `${id}-1`,
        name: 'Eva',
        lastName: 'Soto',
        email: `eva@${id}.example`,
        phone: '+34 900 000 001',
        ocupation: 'Treasury',
      },
      {
        id: `${id}-2`,
        name: 'Jon',
        lastName: 'Arana',
        email: `jon@${id}.example`,
        phone: '+34 900 000 002',
        ocupation: 'Systems',
      },
    ],
    protocol: 'oftp2',
    oftp2: { id: `O0013${code}` },
  }
}

/** Both ways, a receipt for every file, what was sent is moved aside. */
function payroll(code: string, contactId: string, files: string, keys: Keys): object {
  return {
    code,
    contact: contactId,
    name: 'Payroll',
    category: 'Salaries',
    direction: 'BIDIRECCIONAL',
    connection: {
      ips: ['127.0.0.1'],
      advancedConfigurationTransmission: { downloadConf: true, timeoutAck: 60 },
      advancedConfigurationConnection: { retries: 3, validateIp: true },
    },
    security: { cryptography: true, ciphrate: 'TRANSMISION', authentication: 'PASSWORD', ...keys },
    integrations: {
      postEmisionAction: 'EMISION_MOVE',
      postEmisionDirectory: `${files}/nomina/sent`,
      postEmisionRename: true,
      postReceptionRename: true,
    },
    directories: [
      { direction: 'EMISION', filePath: `${files}/nomina/out` },
      { direction: 'RECEPCION', filePath: `${files}/nomina/in` },
    ],
  }
}

/** Encrypted session, files signed and encrypted end to end, hashes compared. */
function payments(code: string, contactId: string, files: string, keys: Keys): object {
  return {
    code,
    contact: contactId,
    name: 'Payments, signed and encrypted',
    category: 'Payments',
    direction: 'BIDIRECCIONAL',
    svcff: true,
    emissionff: true,
    receptionff: true,
    validationHashFiles: true,
    connection: { ips: ['127.0.0.1'], advancedConfigurationConnection: { retries: 3 } },
    security: { cryptography: true, ciphrate: 'ALL', ...keys },
    integrations: { postEmisionAction: 'EMISION_DELETE', postReceptionRename: true },
    directories: [
      { direction: 'EMISION', filePath: `${files}/pagos/out`, fileGroupsName: '*.xml' },
      { direction: 'RECEPCION', filePath: `${files}/pagos/in` },
    ],
  }
}

/** Text lines that travel in EBCDIC; sent by itself when something appears. */
function statements(code: string, contactId: string, files: string, keys: Keys): object {
  return {
    code,
    contact: contactId,
    name: 'Statements, sent by themselves',
    category: 'Statements',
    direction: 'BIDIRECCIONAL',
    automation: { watch: true },
    connection: { ips: ['127.0.0.1'], advancedConfigurationConnection: { retries: 3 } },
    security: { cryptography: true, ciphrate: 'TRANSMISION', ...keys },
    integrations: { postEmisionAction: 'EMISION_DELETE', postReceptionRename: true },
    directories: [
      { direction: 'EMISION', filePath: `${files}/extracto/out`, ...LINES },
      { direction: 'RECEPCION', filePath: `${files}/extracto/in`, ...LINES },
    ],
  }
}

const LINES = {
  fileFormat: 'VARIABLE',
  registerLength: 0,
  delimitator: 'UNIX',
  alphabet: 'ASCII',
  traduction: 'EBCDIC',
  translateStatus: true,
}
