// The platform that tests find on a node: users of every role named after it (operator, adminff …), two partners and
// three channels. Channels wait to be called by the partner (REMOTO), so what is asked for stays PENDING.

import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { hashPassword } from '../../src/accounts/password.ts'
import type { Channel } from '../../src/contract/channel.ts'
import type { ContactPerson } from '../../src/contract/contact.ts'
import type { Static } from 'typebox'
import { ROLES } from '../../src/contract/user.ts'
import { authsOf } from '../../src/domain/user.ts'
import { parseCode } from '../../src/domain/channel.ts'
import type { Context } from '../../src/http/context.ts'
import { findAccount, putAccount } from '../../src/store/accounts.ts'
import type { NewAccount } from '../../src/store/accounts.ts'
import { addHistory, insertChannels, sealChannel } from '../../src/store/channels.ts'
import { putContact, putLocalEntity } from '../../src/store/contacts.ts'
import { channelAccessChanged } from '../../src/store/channel-access.ts'
import { newId } from '../../src/store/database/ids.ts'
import type { Tx } from '../../src/store/database/store.ts'
import type { Seal } from '../../src/store/seal.ts'
import { RSA_PRIVATE_KEY, RSA_PUBLIC_KEY } from './rsa-key.ts'

export const PASSWORD = 'correct horse battery staple'
export const USERNAMES = ROLES.map((role) => role.slice('ROLE_'.length).toLowerCase())

/** Open to everybody, every field set, secrets included. */
export const FULL = 'BANCO-ACME-NOMINA'
/** Open to everybody, next to nothing set. */
export const PLAIN = 'BANCO-ACME-FACTURA'
/** Open to `operator` (and administrators) alone. */
export const CLOSED = 'BANCO-BETA-NOMINA'

export const SECRETS = {
  localKey: 'session-secret-of-ours',
  remoteKey: 'session-secret-of-theirs',
  rsaLocalKey: RSA_PRIVATE_KEY,
  rsaRemoteKey: RSA_PUBLIC_KEY,
}
export const PERSON: Static<typeof ContactPerson> = {
  id: 'p1',
  name: 'Eufrasia',
  lastName: 'Zabalbeascoa',
  secondLastName: 'Urrutikoetxea',
  email: 'eufrasia@acme.example',
  phone: '+34 910 000 001',
  mobile: '+34 600 000 001',
  address: 'Calle del Pez 7, Madrid',
  ocupation: 'Tesorera',
}

let passwordHash: Promise<string> | undefined

export async function seedPlatform(context: Context, files: string): Promise<void> {
  for (const folder of ['out', 'in', 'done', 'beta']) await mkdir(join(files, folder), { recursive: true })
  passwordHash ??= hashPassword(PASSWORD)
  const hash = await passwordHash
  await context.store.write(async (tx) => {
    for (const username of USERNAMES) await putAccount(tx, accountOf(username, hash))
    await putLocalEntity(tx, { code: 'BANCO', name: 'Banco Azul', oftp2Id: null })
    await putContact(tx, contactOf('acme', 'ACME', [PERSON]))
    await putContact(tx, contactOf('beta', 'BETA', []))
    await seedChannel(tx, context.seal, FULL, 'acme', fullChannel(files))
    await seedChannel(tx, context.seal, PLAIN, 'acme', plainChannel(join(files, 'out')))
    await seedChannel(tx, context.seal, CLOSED, 'beta', {
      ...plainChannel(join(files, 'beta')),
      users: ['operator'],
    })
    await channelAccessChanged(tx)
  })
}

export function accountOf(username: string, hash: string | null): NewAccount {
  const role = ROLES.find((one) => one.slice('ROLE_'.length).toLowerCase() === username) ?? 'ROLE_OPERATOR'
  return {
    username,
    email: `${username}@Banco.example`,
    name: 'Ana',
    lastName: 'Ruiz',
    language: 'es',
    role,
    auths: authsOf(role),
    disabled: false,
    passwordHash: hash,
    credentialVersion: 1,
  }
}

export function contactOf(id: string, remoteCode: string, contactInfo: Static<typeof ContactPerson>[]) {
  const data = {
    id,
    name: `${id} SA`,
    version: '5.2',
    os: 'LINUX',
    remoteCodes: [{ id: 'rc1', code: remoteCode, name: `${id} main` }],
    remoteIPs: [{ id: 'ip1', ipAddress: '127.0.0.1', port: 3305 }],
    contactInfo,
  }
  return { id, protocol: 'oftp2' as const, data, settings: {}, secrets: {} }
}

export async function seedChannel(
  tx: Tx,
  seal: Seal,
  code: string,
  contactId: string,
  channel: Channel,
): Promise<void> {
  const now = Date.now()
  const { localCode = '' } = parseCode(code) ?? {}
  const sealed = sealChannel(seal, code, channel)
  await insertChannels(tx, [
    { code, id: newId(now), contactId, localCode, alias: null, automation: null, revision: 1, ...sealed },
  ])
  await addHistory(tx, code, [{ at: now, event: 'CHANNEL_CREATED' }])
}

export function plainChannel(out: string): Channel {
  return {
    direction: 'BIDIRECCIONAL',
    connection: { advancedConfigurationConnection: { callingEnd: 'REMOTO' } },
    directories: [{ direction: 'EMISION', filePath: out }],
  }
}

export function fullChannel(files: string): Channel {
  const out = join(files, 'out')
  return {
    name: 'Nóminas',
    direction: 'BIDIRECCIONAL',
    localEntity: 'BANCO',
    remoteEntity: 'ACME',
    version: '1',
    svcff: false,
    emissionff: false,
    receptionff: false,
    keyExchangeChannel: false,
    allowSendDuplicateFiles: false,
    validationHashFiles: true,
    deactivateChannel: false,
    category: 'PAYROLL',
    connection: {
      ips: ['127.0.0.1', '::1'],
      proxyIps: ['10.0.0.1'],
      advancedConfigurationTransmission: {
        registersBlock: 64,
        crc: true,
        stampLength: 14,
        timeoutSync: 30,
        timeoutAck: 60,
        characters: 'ASCII',
        compression: 'SI',
        downloadConf: false,
      },
      advancedConfigurationConnection: {
        callingEnd: 'REMOTO',
        desconnection: true,
        timeout: 10,
        retries: 3,
        rotations: true,
        validateIp: false,
      },
    },
    directories: [
      {
        direction: 'EMISION',
        filePath: out,
        alphabet: 'ASCII',
        compression: false,
        delimitator: 'UNIX',
        fileFormat: 'HIBRIDO',
        registerLength: 80,
        traduction: 'EBCDIC',
        translateStatus: true,
        fileGroupsName: '*.txt',
      },
      { direction: 'RECEPCION', filePath: join(files, 'in') },
    ],
    integrations: {
      postEmisionAction: 'EMISION_MOVE',
      postEmisionDirectory: join(files, 'done'),
      postEmisionRename: true,
      postReceptionAction: 'RECEPTION_NO',
      postReceptionRename: false,
    },
    security: {
      cryptography: true,
      version: '1',
      ciphrate: 'FILE',
      confidentiality: 'AES-256-CBC',
      authentication: 'PASSWORD',
      rsaLocalKeyName: 'ours',
      rsaRemoteKeyName: 'theirs',
      ...SECRETS,
    },
    emission: { active: true, direction: 'EMISION' },
    reception: { active: true, direction: 'RECEPCION' },
    users: [],
  }
}

export async function tokenFor(context: Context, username: string): Promise<string> {
  const account = await findAccount(context.store.db, username)
  if (!account) throw new Error(`no user ${username}`)
  return context.tokens.make(account, context.now()).token
}
