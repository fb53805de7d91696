// Platforms that tests apply: one with something in every section, and one of any number of channels.

import type { Platform, PlatformChannel } from '../../src/contract/administration/platform-file.ts'
import { RSA_PRIVATE_KEY } from './rsa-key.ts'

export const SECRETS = {
  password: 'ana-has-a-long-password',
  localKey: 'SECRET.A',
  remoteKey: 'SECRET.B',
  rsaLocalKey: RSA_PRIVATE_KEY,
  sftpPassword: 'secret-at-their-server',
  accessPassword: 'secret-at-our-server',
}

const HOST_KEY = `SHA256:${'A'.repeat(43)}`

/** `files` is a file root. */
export function samplePlatform(files: string): Platform {
  return {
    localEntities: [
      { code: 'BANCO', name: 'Banco Azul', oftp2: { id: 'O0013BANCO' } },
      { code: 'CAJA', name: 'Caja Verde' },
    ],
    users: [
      {
        username: 'ana',
        email: 'Ana@banco.example',
        password: SECRETS.password,
        name: 'Ana',
        lastName: 'Ruiz',
        language: 'es',
        role: 'ROLE_OPERATOR',
        auths: { editChannels: true },
      },
      { username: 'robot', email: 'robot@banco.example', role: 'ROLE_ADMIN' },
    ],
    contacts: [
      {
        id: 'acme',
        name: 'Acme SA',
        version: '5.2',
        os: 'LINUX',
        remoteCodes: [
          { id: 'rc1', code: 'ACME', name: 'Acme main' },
          { id: 'rc2', code: 'ACME2' },
        ],
        remoteIPs: [{ id: 'ip1', ipAddress: '127.0.0.1', port: 3305 }],
        contactInfo: [{ id: 'p1', name: 'Eva', lastName: 'Ruiz', email: 'eva@acme.example' }],
        oftp2: {
          id: 'O0013ACME',
          bufferSize: 99_999,
          credit: 64,
          restart: false,
          suite: '04',
          user: 'BANCO',
          sessions: 1,
        },
      },
      {
        id: 'beta',
        remoteCodes: [{ code: 'BETA', name: 'Beta' }],
        protocol: 'sftp',
        sftp: {
          username: 'banco',
          password: SECRETS.sftpPassword,
          hostKeys: [HOST_KEY],
          inbox: '/in',
          outbox: '/out',
        },
        access: { username: 'beta', password: SECRETS.accessPassword },
        quota: { megabytes: 500, files: 200 },
      },
    ],
    channels: [
      {
        code: 'BANCO-ACME-NOMINA',
        contact: 'acme',
        automation: { cron: '0 6 * * 1-5' },
        maxOpenedMegabytes: 100,
        name: 'Payroll',
        direction: 'BIDIRECCIONAL',
        directories: [
          { direction: 'EMISION', filePath: `${files}/out` },
          { direction: 'RECEPCION', filePath: `${files}/in` },
        ],
        connection: {
          ips: ['127.0.0.1'],
          advancedConfigurationConnection: { callingEnd: 'REMOTO', retries: 3, validateIp: true },
        },
        security: {
          version: '1',
          localKey: SECRETS.localKey,
          remoteKey: SECRETS.remoteKey,
          rsaLocalKey: SECRETS.rsaLocalKey,
        },
        users: ['ana'],
      },
      { code: 'BANCO-BETA-long_application', contact: 'beta', direction: 'EMISION' },
    ],
  }
}

export function manyChannels(count: number, files: string): Platform {
  const channels = Array.from({ length: count }, (_, index): PlatformChannel => {
    const number = String(index).padStart(5, '0')
    return {
      code: `BANCO-ACME-A${number}`,
      contact: 'acme',
      name: `Channel ${number}`,
      direction: 'BIDIRECCIONAL',
      directories: [
        { direction: 'EMISION', filePath: `${files}/${number}/out`, fileFormat: 'BINARIO' },
        { direction: 'RECEPCION', filePath: `${files}/${number}/in` },
      ],
      connection: {
        ips: ['127.0.0.1'],
        advancedConfigurationConnection: {
          callingEnd: 'REMOTO',
          retries: 3,
          initialHour: '06:00',
          finishHour: '22:00',
        },
      },
      security: { localKey: `local secret of ${number}`, remoteKey: `remote secret of ${number}` },
    }
  })
  return {
    localEntities: [{ code: 'BANCO', name: 'Banco Azul' }],
    contacts: [{ id: 'acme', name: 'Acme SA', remoteCodes: [{ code: 'ACME', name: 'Acme' }] }],
    channels,
  }
}
