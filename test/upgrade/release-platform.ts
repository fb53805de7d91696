// What a release is kept with: a platform of three partners, each over another protocol, that the first version could
// read. Changes here do not touch what was kept already.

export const FIXTURE_ROOT = '/tmp/esclusa-release-fixture'

export const ANA_PASSWORD = 'ana-has-a-long-password'
export const BETA_PASSWORD = 'secret-at-our-server'
export const LOCAL_KEY = 'session-secret-of-ours'

export function releasePlatform(root: string) {
  const partner = (id: string) => ({ id, name: id, remoteCodes: [{ id: 'rc1', code: id.toUpperCase() }] })
  const from = (folder: string) => [{ direction: 'EMISION', filePath: `${root}/files/${folder}` }]
  return {
    localEntities: [{ code: 'BANCO', name: 'Banco Azul' }],
    users: [{ username: 'ana', email: 'ana@banco.example', password: ANA_PASSWORD, role: 'ROLE_ADMIN' }],
    contacts: [
      {
        ...partner('acme'),
        protocol: 'folder',
        folder: { inbox: `${root}/acme/in`, outbox: `${root}/acme/out` },
      },
      { ...partner('beta'), protocol: 'sftp', access: { username: 'beta', password: BETA_PASSWORD } },
      // Nobody listens there.
      { ...partner('gamma'), remoteIPs: [{ id: 'ip1', ipAddress: '127.0.0.1', port: 9 }] },
    ],
    channels: [
      { code: 'BANCO-ACME-NOMINA', contact: 'acme', direction: 'EMISION', directories: from('out') },
      { code: 'BANCO-ACME-FACTURA', contact: 'acme', direction: 'EMISION', directories: from('taken') },
      {
        code: 'BANCO-ACME-PEDIDO',
        contact: 'acme',
        automation: { every: '1s' },
        direction: 'RECEPCION',
        directories: [{ direction: 'RECEPCION', filePath: `${root}/files/in` }],
      },
      {
        code: 'BANCO-BETA-LIBRO',
        contact: 'beta',
        direction: 'EMISION',
        directories: from('waiting'),
        connection: { advancedConfigurationTransmission: { downloadConf: true } }, // waits until it is taken
      },
      {
        code: 'BANCO-GAMMA-PAGOS',
        contact: 'gamma',
        direction: 'EMISION',
        directories: from('waiting'),
        connection: { advancedConfigurationConnection: { retries: 1000 } },
        security: { localKey: LOCAL_KEY, remoteKey: 'session-secret-of-theirs' },
      },
    ],
  }
}
