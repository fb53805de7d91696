// The kinds of channels that the demo shows. A channel's files are in files/<partner>/<application>.

import { parseCode } from '../domain/channel.ts'
import type { PlatformChannel } from '../contract/administration/platform-file.ts'

export type Keys = { localKey: string; remoteKey: string; rsaLocalKey: string; rsaRemoteKey: string }

/** A channel's code, its partner, and the folder under which all files of its node lie. */
export type Place = { code: string; contact: string; files: string }

export function folderOf({ code, contact, files }: Place): string {
  return `${files}/${contact}/${parseCode(code)?.application.toLowerCase()}`
}

/** A name and its directions; `more` is what this channel shows. */
export function simple(
  place: Place,
  named: [name: string, category: string],
  more: Partial<PlatformChannel>,
) {
  const { code, contact } = place
  const [name, category] = named
  const { direction = 'BIDIRECCIONAL' } = more
  const folder = folderOf(place)
  const directories: PlatformChannel['directories'] = []
  if (direction !== 'RECEPCION') directories.push({ direction: 'EMISION', filePath: `${folder}/out` })
  if (direction !== 'EMISION') directories.push({ direction: 'RECEPCION', filePath: `${folder}/in` })
  return { code, contact, name, category, direction, directories, ...more } satisfies PlatformChannel
}

const LOOPBACK = { ips: ['127.0.0.1'] }
const encryptedSession = (keys: Keys) =>
  ({ cryptography: true, ciphrate: 'TRANSMISION', authentication: 'PASSWORD', ...keys }) as const

/** Both ways, a receipt for every file, what was sent is moved aside. */
export function payroll(place: Place, keys: Keys): PlatformChannel {
  return simple(place, ['Payroll', 'Salaries'], {
    connection: {
      ...LOOPBACK,
      advancedConfigurationTransmission: { downloadConf: true, timeoutAck: 60 },
      advancedConfigurationConnection: { retries: 3, validateIp: true },
    },
    security: encryptedSession(keys),
    integrations: {
      postEmisionAction: 'EMISION_MOVE',
      postEmisionDirectory: `${folderOf(place)}/sent`,
      postEmisionRename: true,
      postReceptionRename: true,
    },
  })
}

/** Encrypted session, files signed and encrypted end to end, hashes compared. */
export function payments(place: Place, keys: Keys): PlatformChannel {
  const folder = folderOf(place)
  return simple(place, ['SEPA payments, signed and encrypted', 'Payments'], {
    svcff: true,
    emissionff: true,
    receptionff: true,
    validationHashFiles: true,
    connection: { ...LOOPBACK, advancedConfigurationConnection: { retries: 3 } },
    security: { ...encryptedSession(keys), ciphrate: 'ALL' },
    integrations: { postEmisionAction: 'EMISION_DELETE', postReceptionRename: true },
    directories: [
      { direction: 'EMISION', filePath: `${folder}/out`, fileGroupsName: '*.xml' },
      { direction: 'RECEPCION', filePath: `${folder}/in` },
    ],
  })
}

/** Text lines that travel in EBCDIC; sent by itself when something appears. */
export function statements(place: Place, keys: Keys): PlatformChannel {
  const folder = folderOf(place)
  return simple(place, ['Statements, sent by themselves', 'Statements'], {
    automation: { watch: true },
    connection: { ...LOOPBACK, advancedConfigurationConnection: { retries: 3 } },
    security: encryptedSession(keys),
    integrations: { postEmisionAction: 'EMISION_DELETE', postReceptionRename: true },
    directories: [
      { direction: 'EMISION', filePath: `${folder}/out`, ...LINES },
      { direction: 'RECEPCION', filePath: `${folder}/in`, ...LINES },
    ],
  })
}

const LINES = {
  fileFormat: 'VARIABLE',
  registerLength: 0,
  delimitator: 'UNIX',
  alphabet: 'ASCII',
  traduction: 'EBCDIC',
  translateStatus: true,
} as const

/** One large file, which may be sent any number of times. */
export function archive(place: Place, keys: Keys, direction: 'EMISION' | 'RECEPCION'): PlatformChannel {
  return simple(place, ['Document archive, one big file', 'Archive'], {
    direction,
    allowSendDuplicateFiles: true,
    connection: { ...LOOPBACK, advancedConfigurationConnection: { retries: 3 } },
    security: encryptedSession(keys),
    integrations: { postReceptionRename: true },
  })
}
