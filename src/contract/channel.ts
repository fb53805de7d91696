// The Channel as the interface spells it, misspellings included (`desconnection`, `traduction`). The descriptions say
// what each field does; the reference page and the console show them as help.

import type { Static } from 'typebox'
import { allOptional, flag, int32, keyText, oneOf, patchOf, text } from './schema.ts'
import { Type } from './type.ts'

export const DIRECTIONS = ['EMISION', 'RECEPCION', 'BIDIRECCIONAL'] as const
export const CHANNEL_STATUSES = ['INACTIVE', 'IN_PROGRESS', 'PENDING', 'ERROR', 'CLOSED', 'IDLE'] as const
export const HISTORY_EVENTS = [
  'CHANNEL_CREATED',
  'CHANNEL_UPDATED',
  'IPS_UPDATED',
  'DIRECTORIES_UPDATED',
  'OUTBOUND_PATH_UPDATED',
  'INBOUND_PATH_UPDATED',
  'CHANNEL_RESET',
  'TRANSFER_REQUESTED',
  'TRANSFER_RETRIED',
  'TRANSFER_STARTED',
  'TRANSFER_COMPLETED',
  'TRANSFER_FAILED',
  'TRANSFER_CANCELLED',
  'CONNECTION_REFUSED',
  'KEY_RECEIVED',
] as const

/** Three parts joined by hyphens: local code, remote code, application. */
export const CODE_PART = '[A-Za-z0-9_.]{1,32}'
export const CHANNEL_CODE_PATTERN = `^${CODE_PART}-${CODE_PART}-${CODE_PART}$`

const direction = (description: string) => oneOf(DIRECTIONS, description)
const hour = (description: string) => Type.String({ description, pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$' })
const path = (description: string) => text(description, 4096)

export const AdvancedTransmission = allOptional(
  {
    registersBlock: int32('Records (or 1 KiB blocks) between two restart points that are kept durably.'),
    crc: flag('Compare a checksum of every file at both ends; a mismatch fails the attempt.'),
    stampLength: Type.Unsafe<0 | 8 | 14 | 17>({
      type: 'integer',
      format: 'int32',
      enum: [0, 8, 14, 17],
      description:
        'Digits of the time stamp put before the extension of received files: 0 none, 8 the day, 14 with the time, 17 with milliseconds.',
    }),
    timeoutSync: int32('Seconds to wait for the session to be set up. 0: the node’s default.'),
    timeoutAck: int32(
      'Seconds to wait for the answer to a block, a file’s end or a receipt. 0: the node’s default.',
    ),
    characters: oneOf(
      ['EBCDIC', 'ASCII'],
      'Alphabet on the wire for directories that translate and name no traduction.',
    ),
    compression: oneOf(
      ['NO', 'SI', 'LZW', 'VARIABLE'],
      'Compression on the wire: none, the best both ends know, LZW, or only files that get smaller.',
    ),
    downloadConf: flag('A transfer completes only with the partner’s end-to-end receipt.'),
  },
  'How files travel inside a session.',
)

export const AdvancedConnection = allOptional(
  {
    callingEnd: oneOf(
      ['INDISTINTO', 'LOCAL', 'REMOTO'],
      'Who opens the session: LOCAL this node, REMOTO the partner, INDISTINTO either.',
    ),
    desconnection: flag('Hang up after each transfer; otherwise the session is kept until it idles out.'),
    timeout: int32('Seconds to wait for a TCP connection. 0: the node’s default.'),
    retries: int32('Attempts after the first, for faults that can pass.'),
    rotations: flag(
      'Each attempt starts with the next address and tries all of them; otherwise the first address alone.',
    ),
    validateIp: flag('A caller must come from ips or proxyIps, else it is refused.'),
    initialHour: hour('HH:mm, node’s time zone: calls are made and taken from this hour on.'),
    finishHour: hour('HH:mm, node’s time zone: no call after this hour; a window past midnight is allowed.'),
  },
  'When and how the two ends connect.',
)

export const Connection = allOptional(
  {
    ips: Type.Array(text('An IPv4 or IPv6 address.', 64), {
      maxItems: 100,
      description: 'The partner’s addresses to call, in order.',
    }),
    proxyIps: Type.Array(text('An IPv4 or IPv6 address.', 64), {
      maxItems: 100,
      description: 'Addresses between the two ends, accepted as the caller’s when validateIp is on.',
    }),
    advancedConfigurationTransmission: AdvancedTransmission,
    advancedConfigurationConnection: AdvancedConnection,
  },
  'Addresses, timing and transmission.',
)

export const Directory = allOptional(
  {
    direction: direction('Which way this directory serves.'),
    filePath: path('Outbound: a directory, a file or a glob. Inbound: a directory.'),
    alphabet: oneOf(['NINGUNO', 'EBCDIC', 'ASCII'], 'The local file’s alphabet; NINGUNO: not text.'),
    compression: flag('Files of this directory are gzipped inside the transfer.'),
    delimitator: oneOf(['NINGUNO', 'DOS', 'UNIX'], 'How records are marked in the local file.'),
    fileFormat: oneOf(
      ['BINARIO', 'HIBRIDO', 'VARIABLE', 'FIJO'],
      'Bytes untouched, text lines, records up to registerLength, or records of exactly registerLength.',
    ),
    registerLength: int32('Record length; FIJO needs it; for VARIABLE 0 means any.'),
    traduction: oneOf(['NINGUNO', 'EBCDIC', 'ASCII'], 'The alphabet the file has on the wire.'),
    translateStatus: flag('Switches translation on.'),
    fileGroupsName: text(
      'Comma-separated globs: which file names belong to this directory. Empty: all.',
      1024,
    ),
  },
  'Where files are taken from or put, and how they are written there.',
)

export const Integration = allOptional(
  {
    exceptionFile: path('Script run when a transfer fails for good.'),
    preEmisionFile: path('Script run before a file leaves; a non-zero exit fails the transfer.'),
    preReceptionFile: path('Script run before a received file is put in place.'),
    postReceptionFile: path('Script of RECEPTION_EXECUTE.'),
    postReceptionAction: oneOf(
      ['RECEPTION_NO', 'RECEPTION_MOVE', 'RECEPTION_EXECUTE'],
      'What is done with a received file once it is in place.',
    ),
    postReceptionDirectory: path('Where RECEPTION_MOVE puts files.'),
    postReceptionRename: flag('A name taken at the target gets a stamp; otherwise the transfer fails.'),
    postEmisionFile: path('Script of EMISION_EXECUTE.'),
    postEmisionDirectory: path('Where EMISION_MOVE puts files.'),
    postEmisionRename: flag('A name taken at the target gets a stamp; otherwise the transfer fails.'),
    postEmisionAction: oneOf(
      ['EMISION_DELETE', 'EMISION_MOVE', 'EMISION_EXECUTE', 'EMISION_NO'],
      'What is done with a sent file once it is known to have arrived.',
    ),
  },
  'Scripts and actions around a transfer.',
)

export const Security = allOptional(
  {
    cryptography: flag('Off: ciphrate counts as NO.'),
    version: text('Label of the key generation.'),
    ciphrate: oneOf(
      ['NO', 'TRANSMISION', 'FILE', 'ALL'],
      'What is encrypted: nothing, the session, the files end to end, or both.',
    ),
    localKey: keyText('Session secret that this node presents.'),
    remoteKey: keyText('Session secret expected from the partner.'),
    confidentiality: oneOf(
      ['AES-256-GCM', 'AES-256-CBC'],
      'Cipher of encrypted files; AES-256-CBC if left out.',
    ),
    authentication: oneOf(['PASSWORD', 'CERTIFICATE'], 'How the ends prove themselves.'),
    rsaLocalKey: keyText('PEM: this node’s private key, with its certificate.'),
    rsaRemoteKey: keyText('PEM: the partner’s certificate or public key.'),
    rsaLocalKeyName: text('Label of rsaLocalKey.'),
    rsaRemoteKeyName: text('Label of rsaRemoteKey.'),
  },
  'Encryption, signatures and the keys for them.',
)

export const Planning = allOptional(
  {
    active: flag('Off: this way is closed.'),
    direction: direction('Narrows the way likewise.'),
  },
  'Whether one way of the channel is open.',
)

export const Channel = allOptional(
  {
    name: text('Label.'),
    application: text('Third part of the channel code. Read-only.', 32),
    direction: direction('Which ways files may go.'),
    localEntity: text('First part of the channel code. Read-only.', 32),
    remoteEntity: text('Second part of the channel code. Read-only.', 32),
    version: text('Label.'),
    svcff: flag('The file-signature service is on for the channel.'),
    emissionff: flag('With svcff: files are signed with rsaLocalKey before they leave.'),
    receptionff: flag('With svcff: incoming files must carry a valid signature by rsaRemoteKey.'),
    keyExchangeChannel: flag('The channel carries keys alone.'),
    allowSendDuplicateFiles: flag('Off: a file whose name and hash were already sent is not sent again.'),
    validationHashFiles: flag('The transfer completes only after both ends agree on the SHA-256.'),
    deactivateChannel: flag('On: nothing moves.'),
    category: text('Label.'),
    connection: Connection,
    directories: Type.Array(Directory, { maxItems: 100, description: 'Where files are taken from and put.' }),
    integrations: Integration,
    security: Security,
    emission: Planning,
    reception: Planning,
    users: Type.Array(text('A username.', 64), {
      maxItems: 1000,
      description: 'Who may reach the channel; empty: everyone whose role allows it.',
    }),
  },
  'A channel between a local and a remote entity, for one application.',
)

export const ChannelPatch = patchOf(Channel)
export const DirectoryList = Type.Array(patchOf(Directory), {
  maxItems: 100,
  description: 'The directories, replaced whole.',
})
export const IpList = Type.Array(text('An IPv4 or IPv6 address.', 64), {
  maxItems: 100,
  description: 'The remote addresses, replaced whole.',
})

export const ChannelPath = Type.Object(
  {
    path: path('Absolute path inside the node’s file roots.'),
    verifyExists: Type.Optional(
      flag('The path must exist on the node: a directory, or for outbound a regular file.'),
    ),
  },
  { additionalProperties: false, description: 'A file path of the channel.' },
)

export const ChannelStatus = allOptional(
  {
    'channel-id': text('Identifier of the channel.'),
    'channel-code': text('Code of the channel.'),
    'channel-direction': direction('Direction of the channel.'),
    'channel-status': oneOf(CHANNEL_STATUSES, 'What the channel is doing.'),
  },
  'The state of a channel.',
)

export const ChannelHistory = allOptional(
  {
    'channel-id': text('Identifier of the channel.'),
    'channel-code': text('Code of the channel.'),
    datetime: Type.String({ format: 'date-time', description: 'When it happened.' }),
    event: oneOf(HISTORY_EVENTS, 'What happened.'),
  },
  'One event in the life of a channel.',
)

export type Channel = Static<typeof Channel>
export type ChannelPatch = Static<typeof ChannelPatch>
export type Directory = Static<typeof Directory>
export type ChannelPath = Static<typeof ChannelPath>
export type ChannelStatus = Static<typeof ChannelStatus>
export type ChannelHistory = Static<typeof ChannelHistory>
export type ChannelStatusValue = (typeof CHANNEL_STATUSES)[number]
export type HistoryEvent = (typeof HISTORY_EVENTS)[number]
export type Direction = (typeof DIRECTIONS)[number]

/** The three parts of the code: always there, never changed. */
export const CODE_FIELDS = ['localEntity', 'remoteEntity', 'application'] as const

/** The fields of `integrations` that name something to run. */
export const SCRIPT_FIELDS = [
  'exceptionFile',
  'preEmisionFile',
  'preReceptionFile',
  'postReceptionFile',
  'postEmisionFile',
] as const

/** The four fields of `security` that are stored encrypted and shown to administrators only. */
export const SECRET_FIELDS = ['localKey', 'remoteKey', 'rsaLocalKey', 'rsaRemoteKey'] as const
export type SecretField = (typeof SECRET_FIELDS)[number]
