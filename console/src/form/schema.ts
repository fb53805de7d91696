// The configuration as fields. Each is a place in the Channel, named by JSON pointer, and has the contract's own
// schema. `*` stands for any place in the list of directories. A test makes sure that no field of the contract is
// missing here.

import { Channel, CODE_FIELDS, SECRET_FIELDS } from '../../../src/contract/channel.ts'

export type FieldSchema = {
  type: 'string' | 'boolean' | 'integer' | 'array' | 'object'
  description?: string
  enum?: (string | number)[]
  pattern?: string
  minimum?: number
  maximum?: number
  maxLength?: number
  maxItems?: number
  items?: FieldSchema
  properties?: Record<string, FieldSchema>
}

export type GroupName =
  | 'general'
  | 'ways'
  | 'directories'
  | 'connection'
  | 'transmission'
  | 'integrations'
  | 'security'

const TRANSMISSION = '/connection/advancedConfigurationTransmission'
const CONNECTION = '/connection/advancedConfigurationConnection'
const under = (prefix: string, names: string) => names.split(' ').map((name) => `${prefix}/${name}`)

export const GROUPS: Record<GroupName, string[]> = {
  general: under(
    '',
    'name category version application localEntity remoteEntity direction deactivateChannel users',
  ),
  ways: [...under('/emission', 'active direction'), ...under('/reception', 'active direction')],
  directories: under('', 'allowSendDuplicateFiles validationHashFiles'),
  connection: [
    ...under('/connection', 'ips proxyIps'),
    ...under(
      CONNECTION,
      'callingEnd initialHour finishHour timeout retries rotations validateIp desconnection',
    ),
  ],
  transmission: under(
    TRANSMISSION,
    'compression characters registersBlock crc downloadConf stampLength timeoutSync timeoutAck',
  ),
  integrations: under(
    '/integrations',
    'preEmisionFile postEmisionAction postEmisionDirectory postEmisionFile postEmisionRename preReceptionFile postReceptionAction postReceptionDirectory postReceptionFile postReceptionRename exceptionFile',
  ),
  security: [
    ...under('/security', 'cryptography ciphrate confidentiality authentication version'),
    ...under('/security', 'localKey remoteKey rsaLocalKeyName rsaLocalKey rsaRemoteKeyName rsaRemoteKey'),
    ...under('', 'svcff emissionff receptionff keyExchangeChannel'),
  ],
}

/** The fields of one directory, in the order they are shown. */
export const DIRECTORY_FIELDS =
  'direction filePath fileGroupsName fileFormat registerLength delimitator alphabet translateStatus traduction compression'.split(
    ' ',
  )

const FIXED = new Set<string>(CODE_FIELDS.map((name) => `/${name}`))
const SECRETS = new Set(SECRET_FIELDS.map((name) => `/security/${name}`))

export function isSecret(pointer: string): boolean {
  return SECRETS.has(pointer)
}

/** Changing it would make another channel of it. */
export function isFixed(pointer: string): boolean {
  return FIXED.has(pointer)
}

export const CHANNEL_SCHEMA = Channel as unknown as FieldSchema // the same JSON schema, seen as data

/** The schema behind a pointer; numbers and `*` step into a list. */
export function schemaAt(pointer: string): FieldSchema {
  let schema: FieldSchema | undefined = CHANNEL_SCHEMA
  for (const step of pointer.split('/').slice(1))
    schema = step === '*' || /^\d+$/.test(step) ? schema?.items : schema?.properties?.[step]
  if (!schema) throw new Error(`the contract has no ${pointer}`)
  return schema
}

/** `/directories/3/filePath` is shown and explained as the one with `*`. */
export function patternOf(pointer: string): string {
  return pointer.replace(/\/\d+(?=\/|$)/, '/*')
}
