import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CLIENT_SETTINGS, readConfig, SETTINGS } from './config.ts'
import { NodeError } from './errors.ts'

const LONG = 'x'.repeat(64)

/** For each setting values that are wrong, and what the message says it should be. */
const WRONG: Record<string, [values: string[], should: RegExp]> = {
  ESCLUSA_PORT: [['-1', '65536', 'http', '80.5', '0x50', ' 80', '1e3'], /whole number from 0 to 65535/],
  ESCLUSA_DATABASE_URL: [['mysql://x', 'postgres', 'postgres:// x', 'data.db'], /postgres:\/\/ address/],
  ESCLUSA_JWT_SECRET: [['short', 'x'.repeat(63)], /at least 64 bytes/],
  ESCLUSA_MASTER_KEY: [['short', 'x'.repeat(31)], /at least 32 bytes/],
  ESCLUSA_MASTER_KEY_OLD: [['short', 'x'.repeat(31)], /at least 32 bytes/],
  ESCLUSA_JWT_SECRET_OLD: [['short', 'x'.repeat(63)], /at least 64 bytes/],
  ESCLUSA_TIMEZONE: [['Madrid', 'Europe/Nowhere', '25', '+02:00', '-05', '+0200'], /IANA time zone such as/],
  ESCLUSA_MAX_PAGE_SIZE: [['0', '100001', 'many'], /whole number from 1 to 100000/],
  ESCLUSA_TRUSTED_PROXIES: [
    ['proxy', '10.0.0.0/33', '::/129', '10.0.0.1,x', '1.2.3.4/8/8'],
    /addresses or networks/,
  ],
  ESCLUSA_PROXY_PROTOCOL_FROM: [
    ['proxy', '10.0.0.0/33', '::/129', '10.0.0.1,x', '1.2.3.4/8/8'],
    /addresses or networks/,
  ],
  ESCLUSA_METRICS_TOKEN: [['short'], /at least 16 bytes/],
  OTEL_EXPORTER_OTLP_ENDPOINT: [['collector', 'grpc://collector:4317'], /http:\/\/ or https:\/\//],
  ESCLUSA_METRICS_CHANNELS: [['-1', 'all', '100001'], /from 0 to 100000/],
  ESCLUSA_METRICS_NETWORKS: [['all', '10.0.0/8'], /addresses or networks/],
  ESCLUSA_FILE_ROOTS: [['files', '/srv:files', './x'], /absolute paths separated by colons/],
  ESCLUSA_SCRIPT_ROOTS: [['scripts'], /absolute paths separated by colons/],
  ESCLUSA_OFTP2_PORT: [['on', '70000'], /whole number from 0 to 65535/],
  ESCLUSA_OFTP2_TLS_PORT: [['on', '-5'], /whole number from 0 to 65535/],
  ESCLUSA_SFTP_PORT: [['yes'], /whole number from 0 to 65535/],
  ESCLUSA_SSH_PACKET_MEMORY: [['yes', '1', 'ON'], /one of on, off/],
  ESCLUSA_SSH_SOCKET_MEMORY: [['no', '0'], /one of on, off/],
  ESCLUSA_CODE_PAGE: [['850', '37'], /one of 1047, 037, 500, 1145, 1148/],
  ESCLUSA_KEEP_TRANSFERS_DAYS: [['0', 'ten'], /whole number from 1 to/],
  ESCLUSA_SIGN_IN_SECONDS: [['0', '601', 'soon'], /whole number from 1 to 600/],
  ESCLUSA_CALLERS_PER_ADDRESS: [['0', '10001'], /whole number from 1 to 10000/],
  ESCLUSA_KEEP_QUARANTINE_DAYS: [['0', 'never'], /whole number from 1 to/],
  ESCLUSA_KEEP_HISTORY_DAYS: [['0', '1.5'], /whole number from 1 to/],
  ESCLUSA_ARCHIVE_DIR: [['archive', './x'], /must be an absolute path/],
  ESCLUSA_MAX_UPLOAD_MEGABYTES: [['0', 'all'], /whole number from 1 to/],
  ESCLUSA_MAX_OPENED_MEGABYTES: [['0', 'lots'], /whole number from 1 to/],
  ESCLUSA_DISK_RESERVE_MEGABYTES: [['-1', 'all'], /whole number from 0 to/],
  ESCLUSA_CONTACT_QUOTA_MEGABYTES: [['0', 'x'], /whole number from 1 to/],
  ESCLUSA_CONTACT_QUOTA_FILES: [['0', 'x'], /whole number from 1 to/],
  ESCLUSA_KEEP_AUDIT_DAYS: [['0', 'ten'], /whole number from 1 to/],
  ESCLUSA_WORKERS: [['0', 'cores'], /whole number from 1 to/],
  ESCLUSA_DRAIN_SECONDS: [['-1', 'long'], /whole number from 0 to/],
  ESCLUSA_LEASE_SECONDS: [['0', 'x'], /whole number from 1 to/],
  ESCLUSA_SCRIPT_SECONDS: [['0', 'x'], /whole number from 1 to/],
  ESCLUSA_LOG_LEVEL: [['verbose', 'INFO'], /one of trace, debug, info/],
  ESCLUSA_PUBLIC_URL: [['esclusa.example', 'ftp://x', 'https://'], /begins with http:\/\/ or https:\/\//],
  ESCLUSA_SMTP_URL: [['mail.example', 'http://mail.example'], /begins with smtp:\/\/ or smtps:\/\//],
  ESCLUSA_MAIL_FROM: [['esclusa', 'a@b@c', 'Esclusa <esclusa>', 'a@b.example\nBcc: c'], /e-mail address/],
  ESCLUSA_WEBHOOK_NETWORKS: [['all', '10.0.0/8'], /addresses or networks/],
  ESCLUSA_LEAST_DIGEST: [['MD5', 'sha256'], /SHA-1, SHA-256, SHA-512/],
  ESCLUSA_LEAST_CIPHER: [['DES', 'aes'], /3DES, AES/],
  ESCLUSA_LEAST_RSA_BITS: [['512', 'long'], /whole number from 1024 to/],
  ESCLUSA_KEEP_EVENTS_DAYS: [['0', 'ten'], /whole number from 1 to/],
}
/** Any text is a value of these; the TLS pair has a test of its own. */
const FREE = [
  'ESCLUSA_DATA_DIR',
  'ESCLUSA_HOST',
  'ESCLUSA_LISTEN_HOST',
  'ESCLUSA_TLS_CERT',
  'ESCLUSA_TLS_KEY',
  'ESCLUSA_OFTP2_TLS_CERT',
  'ESCLUSA_OFTP2_TLS_KEY',
]

for (const name of Object.keys(SETTINGS).filter((one) => !FREE.includes(one)))
  test(`a wrong ${name} stops the node with its name and what it should be`, () => {
    const [values, should] = WRONG[name] ?? [[], /a test is missing/]
    assert.ok(values.length > 0, `no wrong value is listed for ${name}`)
    for (const value of values)
      assert.throws(
        () => readConfig({ [name]: value }),
        (thrown) =>
          thrown instanceof NodeError &&
          thrown.code === 'bad_use' &&
          thrown.message.includes(name) &&
          should.test(thrown.message),
        value,
      )
  })

test('a mail server needs a sender', () => {
  assert.throws(
    () => readConfig({ ESCLUSA_SMTP_URL: 'smtp://mail.example' }),
    /ESCLUSA_MAIL_FROM must be set too/,
  )
  const from = 'Esclusa <esclusa@banco.example>'
  assert.equal(
    readConfig({ ESCLUSA_SMTP_URL: 'smtp://mail.example', ESCLUSA_MAIL_FROM: from }).mailFrom,
    from,
  )
})

test('a secret that is too short is not shown in the message', () => {
  assert.throws(
    () => readConfig({ ESCLUSA_JWT_SECRET: 'hunter2' }),
    (thrown) => thrown instanceof NodeError && !thrown.message.includes('hunter2'),
  )
})

test('TLS needs both its settings', () => {
  assert.throws(() => readConfig({ ESCLUSA_TLS_CERT: '/c.pem' }), /ESCLUSA_TLS_KEY must be set too/)
  assert.throws(() => readConfig({ ESCLUSA_TLS_KEY: '/k.pem' }), /ESCLUSA_TLS_CERT must be set too/)
  assert.deepEqual(readConfig({ ESCLUSA_TLS_CERT: '/c.pem', ESCLUSA_TLS_KEY: '/k.pem' }).tls, {
    certPath: '/c.pem',
    keyPath: '/k.pem',
  })
  assert.throws(() => readConfig({ ESCLUSA_OFTP2_TLS_CERT: '/c' }), /ESCLUSA_OFTP2_TLS_KEY must be set too/)
  assert.throws(() => readConfig({ ESCLUSA_OFTP2_TLS_KEY: '/k' }), /ESCLUSA_OFTP2_TLS_CERT must be set too/)
})

test('a setting that does not exist is a mistake, one of the client or of another program is not', () => {
  assert.throws(() => readConfig({ ESCLUSA_PROT: '8080' }), /ESCLUSA_PROT is not a setting/)
  for (const name of CLIENT_SETTINGS) readConfig({ [name]: 'x' })
  readConfig({ PATH: '/bin', HOME: '/root' })
})

test('with nothing set the node listens on loopback with SQLite in ./data, and what is empty counts as not set', () => {
  const config = readConfig(Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, ''])))
  assert.equal(config.host, '127.0.0.1')
  assert.equal(config.port, 8080)
  assert.equal(config.databaseUrl, undefined)
  assert.equal(config.timezone, 'UTC')
  assert.deepEqual(config.fileRoots, [`${config.dataDir}/files`])
  assert.deepEqual(config.scriptRoots, [])
  assert.equal(config.sftpPort, undefined)
  assert.deepEqual([config.sshPacketMemory, config.sshSocketMemory], [true, true])
  assert.ok(Object.isFrozen(config))
})

test('right values are taken as they are', () => {
  const config = readConfig({
    ESCLUSA_PORT: '0',
    ESCLUSA_DATABASE_URL: 'postgresql://u:p@h/db',
    ESCLUSA_JWT_SECRET: LONG,
    ESCLUSA_MASTER_KEY: LONG,
    ESCLUSA_TIMEZONE: 'Europe/Madrid',
    ESCLUSA_FILE_ROOTS: '/a:/b/',
    ESCLUSA_SFTP_PORT: 'off',
    ESCLUSA_SSH_PACKET_MEMORY: 'off',
    ESCLUSA_SSH_SOCKET_MEMORY: 'on',
    ESCLUSA_TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8 fd00::/8',
    ESCLUSA_OFTP2_PORT: '3305',
  })
  assert.deepEqual(
    [config.port, config.timezone, config.sftpPort, config.oftp2Port],
    [0, 'Europe/Madrid', undefined, 3305],
  )
  assert.deepEqual(config.fileRoots, ['/a', '/b'])
  assert.deepEqual([config.sshPacketMemory, config.sshSocketMemory], [false, true])
  assert.deepEqual(config.trustedProxies, ['127.0.0.1', '10.0.0.0/8', 'fd00::/8'])
  assert.equal(config.jwtSecret, LONG)
})

test('an old key without the one in use is refused: it would be ignored', () => {
  for (const name of ['ESCLUSA_JWT_SECRET', 'ESCLUSA_MASTER_KEY'])
    assert.throws(() => readConfig({ [`${name}_OLD`]: 'x'.repeat(64) }), {
      code: 'bad_use',
      message: `setting ${name} must be set too: ${name}_OLD counts only beside it`,
    })
})
