// What each field of a channel does, by protocol and by who calls: it acts, it is a label, or it does nothing there. A
// field that is set where it does nothing is warned about, in the words of this table, by `check`, `apply` and the
// platform operations; a field that misleads is worse than none. docs/fields.md is made from this table, and a test
// goes through every cell.

import type { PlatformChannel } from '../../contract/administration/platform-file.ts'
import type { Channel, Directory } from '../../contract/channel.ts'

/** A channel as the platform file has it; one of the store is one, too. */
export type Configured = Partial<PlatformChannel>

/** A protocol and who calls. With a folder nobody does. */
export const COLUMNS = ['oftp2 local', 'oftp2 remote', 'sftp local', 'sftp remote', 'folder'] as const
export type Column = (typeof COLUMNS)[number]

/** Where it is text, it says why the field does nothing there. */
export type Cell = 'acts' | 'label' | { warned: string }

export type FieldEffect = {
  /** As the interface spells it, dots between; it stands for the values of `example`. */
  field: string
  /** What is told apart, where a field's values differ in effect. */
  values?: string
  pointer: string
  example: Channel
  isSet: (channel: Configured) => boolean
  cells: Record<Column, Cell>
}

const TRANSMISSION = 'connection.advancedConfigurationTransmission'
export const CALLS = 'connection.advancedConfigurationConnection'
type Transmission = NonNullable<NonNullable<Channel['connection']>['advancedConfigurationTransmission']>
type Calls = NonNullable<NonNullable<Channel['connection']>['advancedConfigurationConnection']>

export const transmission = (channel: Configured): Transmission =>
  channel.connection?.advancedConfigurationTransmission ?? {}
export const calls = (channel: Configured): Calls => channel.connection?.advancedConfigurationConnection ?? {}

type Given = Partial<Record<Column, string>>

function cellsOf(idle: Given): Record<Column, Cell> {
  const entries = COLUMNS.map((column) => {
    const why = idle[column]
    return [column, why === undefined ? 'acts' : { warned: why }]
  })
  return Object.fromEntries(entries) as Record<Column, Cell>
}

function pointerOf(field: string): string {
  return `/${field.replace(/^directories\./, 'directories/0/').replaceAll('.', '/')}`
}

function effect(
  field: string,
  example: Channel,
  isSet: FieldEffect['isSet'],
  idle: Given = {},
  values?: string,
): FieldEffect {
  return {
    field,
    ...(values !== undefined && { values }),
    pointer: pointerOf(field),
    example,
    isSet,
    cells: cellsOf(idle),
  }
}

function label(field: string, example: Channel): FieldEffect {
  const cells = Object.fromEntries(COLUMNS.map((column) => [column, 'label'])) as Record<Column, Cell>
  return { field, pointer: pointerOf(field), example, isSet: () => false, cells }
}

/** Acts wherever files move: what it does happens before or after the line. */
const everywhere = (field: string, example: Channel) => effect(field, example, () => false)

const ofTransmission = (name: keyof Transmission, example: Transmission, idle: Given, values?: string) =>
  effect(
    `${TRANSMISSION}.${name}`,
    { connection: { advancedConfigurationTransmission: example } },
    (channel) => isSameValue(transmission(channel)[name], example[name], values !== undefined),
    idle,
    values,
  )
const ofCalls = (name: keyof Calls, example: Calls, idle: Given, values?: string) =>
  effect(
    `${CALLS}.${name}`,
    { connection: { advancedConfigurationConnection: example } },
    (channel) => isSameValue(calls(channel)[name], example[name], values !== undefined),
    idle,
    values,
  )

/** Flags count when they are true, numbers when they are not 0, and where values differ in effect the value itself. */
function isSameValue(given: unknown, example: unknown, exactly: boolean): boolean {
  if (exactly || typeof example === 'boolean') return given === example
  return Boolean(given)
}

const NO_SESSION = 'has no effect with a folder: there is no session'
const NOBODY_CALLED = 'has no effect with a folder: nobody is called'
const PARTNER_CALLS = 'has no effect: the partner calls'
const WE_CALL = 'has no effect: this node calls, so nobody’s address is looked at'
const UNPROVEN =
  'proves nothing where the partner calls over SFTP: its client tells no hash; a transfer to it completes when it has fetched every octet'
const ACCOUNTS = 'has no effect here: the contact’s section sftp or access holds the account'
const OWN_LIMIT = 'has no effect: the partner calls, and a caller must sign in within the node’s own limit'
const AS_IT_LIES =
  'has no effect with HIBRIDO here: lines travel as they lie in the file, and are not ended anew at the other end'

const FETCHED =
  'does little where the partner calls over SFTP: it fetches its files itself, and nothing but a full disk here is tried again'
const ALL_CBC =
  'AES-256-GCM has no cipher suite in OFTP2, whose suites are all CBC: files are encrypted by the contact’s oftp2.suite, AES-256-CBC without one'

/** Of a contact that has one section alone. */
export const CANNOT_BE_CALLED = 'REMOTO waits for a call that cannot come: the contact has no section access'
export const CANNOT_CALL =
  'LOCAL wants this node to call, but the contact has no section sftp: nothing will move'

const directory = (one: Directory): Channel => ({ directories: [one] })
const security = (one: NonNullable<Channel['security']>): Channel => ({ security: one })
const anyDirectory = (test: (one: Directory) => boolean) => (channel: Configured) =>
  (channel.directories ?? []).some(test)

const hasAddresses = (list: readonly string[] | undefined) => (list?.length ?? 0) > 0

const OF_CHANNEL: readonly FieldEffect[] = [
  label('name', { name: 'x' }),
  label('category', { category: 'x' }),
  label('version', { version: 'x' }),
  label('application', {}),
  label('localEntity', {}),
  label('remoteEntity', {}),
  everywhere('direction', { direction: 'EMISION' }),
  everywhere('deactivateChannel', { deactivateChannel: true }),
  everywhere('emission.active', { emission: { active: false } }),
  everywhere('emission.direction', { emission: { direction: 'EMISION' } }),
  everywhere('reception.active', { reception: { active: false } }),
  everywhere('reception.direction', { reception: { direction: 'RECEPCION' } }),
  everywhere('users', { users: ['ana'] }),
  everywhere('svcff', { svcff: true }),
  everywhere('emissionff', { svcff: true, emissionff: true }),
  everywhere('receptionff', { svcff: true, receptionff: true }),
  everywhere('keyExchangeChannel', { keyExchangeChannel: true }),
  everywhere('allowSendDuplicateFiles', { allowSendDuplicateFiles: true }),
  effect(
    'validationHashFiles',
    { validationHashFiles: true },
    (channel) => channel.validationHashFiles === true,
    {
      'sftp remote': UNPROVEN,
    },
  ),
]

const OF_CONNECTION: readonly FieldEffect[] = [
  effect(
    'connection.ips',
    { connection: { ips: ['192.0.2.1'] } },
    (channel) => hasAddresses(channel.connection?.ips) && calls(channel).validateIp !== true,
    {
      'oftp2 remote': `${PARTNER_CALLS}, and validateIp is off`,
      'sftp remote': `${PARTNER_CALLS}, and validateIp is off`,
      folder: NOBODY_CALLED,
    },
  ),
  effect(
    'connection.proxyIps',
    { connection: { proxyIps: ['192.0.2.2'], advancedConfigurationConnection: { validateIp: true } } },
    (channel) => hasAddresses(channel.connection?.proxyIps),
    { 'oftp2 local': WE_CALL, 'sftp local': WE_CALL, folder: NOBODY_CALLED },
  ),
  ofTransmission('registersBlock', { registersBlock: 64 }, {}),
  ofTransmission('crc', { crc: true }, { 'sftp remote': UNPROVEN }),
  ofTransmission('stampLength', { stampLength: 8 }, {}),
  ofTransmission(
    'timeoutSync',
    { timeoutSync: 30 },
    {
      'oftp2 remote': OWN_LIMIT,
      'sftp remote': OWN_LIMIT,
      folder: NO_SESSION,
    },
  ),
  ofTransmission('timeoutAck', { timeoutAck: 30 }, { folder: NO_SESSION }),
  ofTransmission('characters', { characters: 'ASCII' }, {}),
  ofTransmission(
    'compression',
    { compression: 'SI' },
    {
      'sftp remote':
        'SI has no effect where the partner calls over SFTP: use LZW or VARIABLE, which send gzip files',
      folder:
        'SI has no effect with a folder: there is no session to compress; use LZW or VARIABLE, which send gzip files',
    },
    'SI',
  ),
  ofTransmission('compression', { compression: 'LZW' }, {}, 'LZW'),
  ofTransmission('compression', { compression: 'VARIABLE' }, {}, 'VARIABLE'),
  ofTransmission(
    'downloadConf',
    { downloadConf: true },
    {
      'sftp local': 'has no effect: an SFTP server that this node calls gives no receipt',
      folder:
        'has no effect with a folder, which gives no receipt: a transfer completes when the file lies in the inbox',
    },
  ),
  ofCalls('callingEnd', { callingEnd: 'LOCAL' }, { 'sftp remote': CANNOT_CALL }, 'LOCAL'),
  ofCalls(
    'callingEnd',
    { callingEnd: 'REMOTO' },
    { 'sftp local': CANNOT_BE_CALLED, folder: `${NOBODY_CALLED}, and files are put and taken at once` },
    'REMOTO',
  ),
  ofCalls('callingEnd', { callingEnd: 'INDISTINTO' }, {}, 'INDISTINTO'),
  ofCalls(
    'desconnection',
    { desconnection: true },
    {
      'oftp2 remote': `${PARTNER_CALLS}, and hangs up when it likes`,
      'sftp remote': `${PARTNER_CALLS}, and hangs up when it likes`,
      folder: NO_SESSION,
    },
  ),
  ofCalls(
    'timeout',
    { timeout: 10 },
    {
      'oftp2 remote': PARTNER_CALLS,
      'sftp remote': PARTNER_CALLS,
      folder: NOBODY_CALLED,
    },
  ),
  ofCalls('retries', { retries: 2 }, { 'sftp remote': FETCHED }),
  ofCalls(
    'rotations',
    { rotations: true },
    {
      'oftp2 remote': PARTNER_CALLS,
      'sftp remote': PARTNER_CALLS,
      folder: NOBODY_CALLED,
    },
  ),
  ofCalls(
    'validateIp',
    { validateIp: true },
    {
      'oftp2 local': WE_CALL,
      'sftp local': WE_CALL,
      folder: 'has no effect with a folder: nobody calls',
    },
  ),
  ofCalls('initialHour', { initialHour: '06:00' }, {}),
  ofCalls('finishHour', { finishHour: '22:00' }, {}),
]

const OF_FILES: readonly FieldEffect[] = [
  everywhere('directories.direction', directory({ direction: 'EMISION' })),
  everywhere('directories.filePath', directory({ filePath: '/srv/x' })),
  everywhere('directories.fileGroupsName', directory({ fileGroupsName: '*.txt' })),
  everywhere('directories.fileFormat', directory({ fileFormat: 'FIJO', registerLength: 80 })),
  everywhere('directories.registerLength', directory({ fileFormat: 'FIJO', registerLength: 80 })),
  effect(
    'directories.delimitator',
    directory({ fileFormat: 'VARIABLE', delimitator: 'UNIX' }),
    () => false,
    {},
    'with FIJO and VARIABLE',
  ),
  effect(
    'directories.delimitator',
    directory({ fileFormat: 'HIBRIDO', delimitator: 'DOS' }),
    anyDirectory(
      ({ fileFormat, delimitator = 'NINGUNO' }) => fileFormat === 'HIBRIDO' && delimitator !== 'NINGUNO',
    ),
    { 'sftp local': AS_IT_LIES, 'sftp remote': AS_IT_LIES, folder: AS_IT_LIES },
    'with HIBRIDO',
  ),
  everywhere('directories.alphabet', directory({ alphabet: 'EBCDIC' })),
  everywhere(
    'directories.traduction',
    directory({ alphabet: 'EBCDIC', traduction: 'ASCII', translateStatus: true }),
  ),
  everywhere(
    'directories.translateStatus',
    directory({ alphabet: 'EBCDIC', traduction: 'ASCII', translateStatus: true }),
  ),
  everywhere('directories.compression', directory({ compression: true })),
  ...(
    [
      ['exceptionFile', { exceptionFile: '/srv/x' }],
      ['preEmisionFile', { preEmisionFile: '/srv/x' }],
      ['preReceptionFile', { preReceptionFile: '/srv/x' }],
      ['postReceptionFile', { postReceptionAction: 'RECEPTION_EXECUTE', postReceptionFile: '/srv/x' }],
      ['postReceptionAction', { postReceptionAction: 'RECEPTION_NO' }],
      ['postReceptionDirectory', { postReceptionAction: 'RECEPTION_MOVE', postReceptionDirectory: '/srv/x' }],
      ['postReceptionRename', { postReceptionRename: true }],
      ['postEmisionFile', { postEmisionAction: 'EMISION_EXECUTE', postEmisionFile: '/srv/x' }],
      ['postEmisionDirectory', { postEmisionAction: 'EMISION_MOVE', postEmisionDirectory: '/srv/x' }],
      ['postEmisionRename', { postEmisionRename: true }],
      ['postEmisionAction', { postEmisionAction: 'EMISION_DELETE' }],
    ] as const
  ).map(([name, integrations]) => everywhere(`integrations.${name}`, { integrations })),
]

const sessionSecret = (
  name: 'authentication' | 'localKey' | 'remoteKey',
  example: NonNullable<Channel['security']>,
) =>
  effect(`security.${name}`, security(example), (channel) => Boolean(channel.security?.[name]), {
    'sftp local': ACCOUNTS,
    // What a caller must prove is asked over SFTP too; nothing of ours is shown to it.
    ...(name === 'localKey' && { 'sftp remote': ACCOUNTS }),
    folder: NO_SESSION,
  })

const OF_SECURITY: readonly FieldEffect[] = [
  everywhere('security.cryptography', security({ cryptography: true, ciphrate: 'FILE' })),
  effect(
    'security.ciphrate',
    security({ cryptography: true, ciphrate: 'TRANSMISION' }),
    (channel) =>
      channel.security?.cryptography === true && /^(TRANSMISION|ALL)$/.test(channel.security.ciphrate ?? ''),
    { folder: 'a folder is not an encrypted session: transfers will be refused; use FILE' },
    'TRANSMISION, ALL',
  ),
  effect('security.ciphrate', security({ cryptography: true, ciphrate: 'FILE' }), () => false, {}, 'FILE'),
  effect(
    'security.confidentiality',
    security({ cryptography: true, ciphrate: 'FILE', confidentiality: 'AES-256-GCM' }),
    (channel) => channel.security?.confidentiality === 'AES-256-GCM',
    { 'oftp2 local': ALL_CBC, 'oftp2 remote': ALL_CBC },
    'AES-256-GCM',
  ),
  effect(
    'security.confidentiality',
    security({ cryptography: true, ciphrate: 'FILE', confidentiality: 'AES-256-CBC' }),
    () => false,
    {},
    'AES-256-CBC',
  ),
  sessionSecret('authentication', { authentication: 'PASSWORD' }),
  label('security.version', security({ version: 'x' })),
  sessionSecret('localKey', { localKey: 'x' }),
  sessionSecret('remoteKey', { remoteKey: 'x' }),
  everywhere('security.rsaLocalKey', {}),
  everywhere('security.rsaRemoteKey', {}),
  label('security.rsaLocalKeyName', security({ rsaLocalKeyName: 'x' })),
  label('security.rsaRemoteKeyName', security({ rsaRemoteKeyName: 'x' })),
]

export const FIELD_EFFECTS: readonly FieldEffect[] = [
  ...OF_CHANNEL,
  ...OF_CONNECTION,
  ...OF_FILES,
  ...OF_SECURITY,
]
