import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import * as fc from 'fast-check'
import { parse, stringify } from 'yaml'
import { tempFolder } from '../../test/support/harness.ts'
import { makeTestKey } from '../../test/support/cms-keys.ts'
import { generateSelfSigned } from '../engine/transforms/cms/self-signed.ts'
import { NodeError } from '../errors.ts'
import { samplePlatform, SECRETS } from '../../test/support/platform-file.ts'
import { readPlatform } from './read.ts'
import type { ReadOptions } from './read.ts'
import type { Platform, PlatformChannel, PlatformContact } from '../contract/administration/platform-file.ts'
import { NOTHING_KNOWN } from './rules.ts'
import { parseYaml, toYaml } from './yaml-source.ts'

type Reader = {
  folder: string
  read: (text: string | object, options?: Partial<ReadOptions>) => ReturnType<typeof readPlatform>
  /** The lines of the refusal, without the file's name in front. */
  faults: (text: string | object, options?: Partial<ReadOptions>) => string[]
}

async function reader(t: TestContext): Promise<Reader> {
  const folder = await tempFolder(t)
  const file = join(folder, 'platform.yaml')
  const read: Reader['read'] = (text, options) => {
    writeFileSync(file, typeof text === 'string' ? text : stringify(text, { aliasDuplicateObjects: false }))
    return readPlatform(file, { env: {}, roots: { fileRoots: [folder], scriptRoots: [] }, ...options })
  }
  const faults: Reader['faults'] = (text, options) => {
    try {
      read(text, options)
    } catch (thrown) {
      assert.ok(thrown instanceof NodeError && thrown.code === 'bad_use', String(thrown))
      return thrown.message
        .split('\n')
        .slice(1)
        .map((line) => line.replace(`${file}:`, ''))
    }
    return []
  }
  return { folder, read, faults }
}

/** The pointers and messages alone. */
function said(lines: string[]): string[] {
  return lines.map((line) => line.replace(/^\d+:\d+: /, ''))
}

const BASE = {
  localEntities: [{ code: 'BANCO', name: 'Banco Azul' }],
  contacts: [{ id: 'acme', remoteCodes: [{ code: 'ACME' }] } as PlatformContact],
}
const withChannel = (
  channel: Partial<PlatformChannel>,
  contact: Partial<PlatformContact> = {},
): Platform => ({
  ...BASE,
  contacts: [{ ...BASE.contacts[0]!, ...contact }],
  channels: [{ code: 'BANCO-ACME-NOMINA', contact: 'acme', ...channel }],
})

test('the sample is read as it was written', async (t) => {
  const { folder, read } = await reader(t)
  const sample = samplePlatform(folder)
  const { platform, warnings } = read(sample)
  assert.deepEqual(platform, sample)
  assert.deepEqual(warnings, [])
  assert.deepEqual(read(JSON.stringify(sample)).platform, sample, 'JSON is YAML too')
  assert.deepEqual(read('').platform, {}, 'an empty file asks for nothing')
})

test('every fault of the shape is told by line, column and pointer, all at once', async (t) => {
  const { faults } = await reader(t)
  const text = `localEntities:
  - code: BAN CO
    name: Banco
channels:
  - code: BANCO-ACME
    contact: 7
    direction: EMISON
    colour: red
    connection:
      ips: 127.0.0.1
      advancedConfigurationConnection: { retries: -1, initialHour: "9:00" }
  - contact: acme
users: [{ username: a, email: nobody, role: ROLE_KING }]
`
  assert.deepEqual(faults(text), [
    '2:11: /localEntities/0/code must be 1 to 32 of A-Z a-z 0-9 _ .',
    '5:11: /channels/0/code must have the form <localCode>-<remoteCode>-<application>, each 1 to 32 of A-Z a-z 0-9 _ .',
    '6:14: /channels/0/contact must be text (put it in quotes if it looks like a number, true or false)',
    '7:16: /channels/0/direction must be one of EMISION, RECEPCION, BIDIRECCIONAL',
    '8:5: /channels/0/colour is not known here',
    '10:12: /channels/0/connection/ips must be a list',
    '11:51: /channels/0/connection/advancedConfigurationConnection/retries must be at least 0',
    '11:68: /channels/0/connection/advancedConfigurationConnection/initialHour must be an hour, HH:mm',
    '12:5: /channels/1/code is required',
    '13:31: /users/0/email must be an e-mail address',
    '13:45: /users/0/role must be one of ROLE_GLOBALADMIN, ROLE_ADMIN, ROLE_ADVOPERATOR, ROLE_OPERATOR, ROLE_CONTROLATOR, ROLE_ADMINFF, ROLE_ADMINCONTROLATORFF',
  ])
})

test('a fault of the shape does not hide what the rules have against the rest', async (t) => {
  const { faults } = await reader(t)
  const text = `localEntities: [{ code: BANCO, name: Banco }, { code: CAJA, nam: Caja }]
contacts:
  - { id: acme, remoteCodes: [{ code: ACME }] }
  - { id: beta, remoteCodes: [{ code: BE-TA }] }
channels:
  - { code: BANCO-ACME-ONE, contact: acme, direction: UP, connection: { ips: [nowhere] } }
  - { code: BANCO-BETA-TWO, contact: beta }
  - { code: 7, contact: acme }
  - { code: CAJA-ACME-THREE, contact: gone, connection: { ips: [1, 2] } }
  - { code: NOBODY-ACME-FOUR, contact: acme }
`
  assert.deepEqual(said(faults(text)), [
    '/localEntities/1/name is required',
    '/localEntities/1/nam is not known here',
    '/contacts/1/remoteCodes/0/code must be 1 to 32 of A-Z a-z 0-9 _ .',
    '/channels/0/direction must be one of EMISION, RECEPCION, BIDIRECCIONAL',
    '/channels/0/connection/ips/0 "nowhere" is not an IPv4 or IPv6 address',
    '/channels/2/code must be text (put it in quotes if it looks like a number, true or false)',
    '/channels/3/contact there is no contact gone',
    '/channels/3/connection/ips/0 must be text (put it in quotes if it looks like a number, true or false)',
    '/channels/3/connection/ips/1 must be text (put it in quotes if it looks like a number, true or false)',
    '/channels/4/code there is no local entity NOBODY',
  ])
})

test('a file that is not YAML is told by line and column, without quoting it', async (t) => {
  const { faults } = await reader(t)
  assert.deepEqual(faults('users:\n  - username: "ana\n'), [
    '3:1: a character is missing here: a colon, a comma, a quote or a closing bracket',
  ])
  assert.deepEqual(faults('users:\n\t- username: ana\n'), ['2:1: tabs cannot indent YAML: use spaces'])
  assert.deepEqual(faults('users: []\nusers: []\n'), ['2:1: this key is there twice'])
  assert.deepEqual(faults('users:\n  - password: *hunter2-hunter2\n'), [
    '2:15: text that starts with * is an alias, and there is no such anchor: put the text in quotes',
  ])
  assert.deepEqual(faults('users:\n  - password: !hunter2 x\n'), [
    '2:15: text that starts with ! is a tag, which is not known here: put the text in quotes',
  ])
  assert.deepEqual(said(faults('- a\n- b\n')), ['the file must be a mapping of fields'])
})

test('an alias stands for the anchor before it, of as many as there are', () => {
  assert.equal(parseYaml('a: *x\nb: &x 1\n').faults.length, 1)
  assert.deepEqual(parseYaml('a: &x 1\nb: *x\nc: &x 2\nd: *x\n').value, { a: 1, b: 1, c: 2, d: 2 })
  // To go through the text once for each of them took minutes.
  const many = Array.from({ length: 5000 }, (_, nth) => `  - { code: A${nth}, folder: out, keys: *keys }\n`)
  const { value, faults } = parseYaml(`keys: &keys { one: 1 }\nlist:\n${many.join('')}`)
  assert.deepEqual(faults, [])
  const { list } = value as { list: { code: string; keys: unknown }[] }
  assert.equal(list.length, 5000)
  assert.deepEqual(list.at(-1), { code: 'A4999', folder: 'out', keys: { one: 1 } })
})

const shared = (direction: string) => `localEntities: [{ code: BANCO, name: Banco }]
contacts: [{ id: acme, remoteCodes: [{ code: ACME }] }]
channels:
  - &first
    code: BANCO-ACME-ONE
    contact: acme
    direction: ${direction}
  - { <<: *first, code: BANCO-ACME-TWO }
`

test('anchors and merges let channels share their fields, and a fault points to where it is written', async (t) => {
  const { read, faults } = await reader(t)
  assert.deepEqual(
    read(shared('EMISION')).platform.channels?.map(({ code, direction }) => [code, direction]),
    [
      ['BANCO-ACME-ONE', 'EMISION'],
      ['BANCO-ACME-TWO', 'EMISION'],
    ],
  )
  const allowed = 'must be one of EMISION, RECEPCION, BIDIRECCIONAL'
  assert.deepEqual(faults(shared('UP')), [
    `7:16: /channels/0/direction ${allowed}`,
    `7:16: /channels/1/direction ${allowed}`,
  ])
})

test('secrets come from the environment or from files beside the platform file', async (t) => {
  const { folder, read, faults } = await reader(t)
  writeFileSync(join(folder, 'local.key'), 'kept\n')
  const text = `users: [{ username: ana, email: ana@b.example, role: ROLE_ADMIN, password: { env: ANA } }]
localEntities: [{ code: BANCO, name: Banco }]
contacts: [{ id: acme, remoteCodes: [{ code: ACME }] }]
channels:
  - { code: BANCO-ACME-NOMINA, contact: acme, security: { localKey: { file: local.key }, remoteKey: { env: THEIRS } } }
`
  const { platform } = read(text, { env: { ANA: 'a long password', THEIRS: 'theirs' } })
  assert.equal(platform.users?.[0]?.password, 'a long password')
  assert.deepEqual(platform.channels?.[0]?.security, { localKey: 'kept', remoteKey: 'theirs' })

  assert.deepEqual(faults(text.replace('local.key', 'gone.key')), [
    '1:76: /users/0/password the environment variable ANA is not set',
    `5:69: /channels/0/security/localKey ${join(folder, 'gone.key')} cannot be read (ENOENT)`,
    '5:100: /channels/0/security/remoteKey the environment variable THEIRS is not set',
  ])
  const checked = read(text, { checkOnly: true })
  assert.equal(checked.warnings.length, 2, 'a check on another machine warns of them')
  assert.deepEqual(
    said(faults({ users: [{ username: 'a', email: 'a@b', role: 'ROLE_ADMIN', name: { env: 'X' } }] })),
    ['/users/0/name must be text (put it in quotes if it looks like a number, true or false)'],
  )
  assert.deepEqual(
    said(
      faults({
        users: [{ username: 'a', email: 'a@b', role: 'ROLE_ADMIN', password: { env: 'X', file: 'y' } }],
      }),
    ),
    ['/users/0/password must be text, { env: NAME } or { file: PATH }'],
  )
  writeFileSync(join(folder, 'local.key'), Buffer.from('se\xf1or', 'latin1'))
  const neither = [
    '1:76: /users/0/password must be text, { env: NAME } or { file: PATH }',
    `5:69: /channels/0/security/localKey ${join(folder, 'local.key')} holds no text in UTF-8: keys must be PEM, and passwords saved in UTF-8`,
  ]
  const wrong = text.replace('{ env: ANA }', '{ env: ANA, file: ana }')
  assert.deepEqual(faults(wrong, { checkOnly: true }), neither, 'a check refuses what is right on no machine')
})

test('no refusal holds a secret', async (t) => {
  const { folder, faults } = await reader(t)
  const sample = samplePlatform(folder)
  const broken = {
    ...sample,
    users: sample.users?.map((user) => ({ ...user, password: 'too short', passwordHash: 'not a hash' })),
    contacts: sample.contacts?.map((contact) => ({
      ...contact,
      sftp: { ...contact.sftp, passphrase: [SECRETS.sftpPassword] },
    })),
    channels: sample.channels?.map((channel) => ({
      ...channel,
      security: { ...channel.security, rsaRemoteKey: SECRETS.rsaLocalKey },
    })),
  }
  const lines = faults(broken).join('\n') + faults({ ...broken, contacts: sample.contacts }).join('\n')
  assert.match(lines, /passphrase must be text/)
  assert.match(lines, /rsaRemoteKey is not a certificate/)
  for (const secret of [...Object.values(SECRETS), 'too short', 'not a hash'])
    assert.ok(!lines.includes(secret.split('\n')[1] ?? secret), `${secret} is shown`)
})

test('names are unique, e-mail addresses whatever their case', async (t) => {
  const { faults } = await reader(t)
  const twice: Platform = {
    localEntities: [BASE.localEntities[0]!, BASE.localEntities[0]!],
    users: [
      { username: 'ana', email: 'Ana@b.example', role: 'ROLE_ADMIN' },
      { username: 'ana', email: 'ana@B.example', role: 'ROLE_ADMIN' },
    ],
    contacts: [
      {
        id: 'acme',
        remoteCodes: [{ code: 'ACME' }],
        oftp2: { id: 'O1' },
        access: { username: 'x', password: 'y' },
      },
      {
        id: 'acme',
        remoteCodes: [{ code: 'ACME' }],
        oftp2: { id: 'O1' },
        access: { username: 'x', password: 'y' },
      },
    ],
    channels: [
      { code: 'BANCO-ACME-A', contact: 'acme' },
      { code: 'BANCO-ACME-A', contact: 'acme' },
    ],
  }
  assert.deepEqual(said(faults(twice)), [
    '/localEntities/1/code local entity BANCO is there twice',
    '/users/1/username username ana is there twice',
    '/users/1/email e-mail address ana@b.example is there twice',
    '/contacts/1/id contact acme is there twice',
    '/contacts/1/remoteCodes/0/code remote code ACME is there twice',
    '/contacts/1/oftp2/id OFTP2 identification O1 is there twice',
    '/contacts/1/access/username SFTP account x is there twice',
    '/channels/1/code channel BANCO-ACME-A is there twice',
  ])
})

test('a channel must lead to an entity, a contact and one of its remote codes, in the file or in the database', async (t) => {
  const { read, faults } = await reader(t)
  const lost: Platform = {
    ...BASE,
    channels: [
      {
        code: 'NOBODY-OTHER-A',
        contact: 'acme',
        application: 'B',
        localEntity: 'Banco',
        remoteEntity: 'OTHER',
      },
      { code: 'BANCO-ACME-A', contact: 'beta' },
    ],
  }
  assert.deepEqual(said(faults(lost)), [
    '/channels/0/code there is no local entity NOBODY',
    '/channels/0/code contact acme has no remote code OTHER',
    '/channels/0/application is part of the code and must be A, or left out',
    '/channels/0/localEntity is part of the code and must be NOBODY, or left out',
    '/channels/1/contact there is no contact beta',
  ])
  const known = {
    ...NOTHING_KNOWN,
    usernames: new Set(['eva']),
    entityCodes: new Set(['BANCO']),
    entityRoots: new Map(),
    contacts: new Map([
      ['acme', { protocol: 'sftp' as const, called: false, access: true, remoteCodes: ['ACME'] }],
    ]),
  }
  const alone: Platform = { channels: [{ code: 'BANCO-ACME-A', contact: 'acme', users: ['eva'] }] }
  assert.deepEqual(read(alone, { known }).warnings, [])
  const { warnings } = read(withChannel({ users: ['eva', 'luis'] }), { known })
  assert.equal(warnings.length, 1)
  assert.match(warnings[0] ?? '', /:\d+:\d+: \/channels\/0\/users\/1 there is no user luis/)
})

test('the rules of a channel hold for files too, links that lead out included', async (t) => {
  const { folder, faults } = await reader(t)
  mkdirSync(join(folder, 'real'))
  symlinkSync('/', join(folder, 'out'))
  const directories = [
    { filePath: '/etc' },
    { filePath: `${folder}/real`, fileFormat: 'FIJO' as const },
    { filePath: `${folder}/out/etc` },
  ]
  const wrong = withChannel({
    directories,
    connection: { ips: ['10.0.0.1', 'nowhere'] },
    integrations: { preEmisionFile: '/bin/sh' },
  })
  assert.deepEqual(said(faults(wrong)).sort(), [
    '/channels/0/connection/ips/1 "nowhere" is not an IPv4 or IPv6 address',
    `/channels/0/directories/0/filePath must lie inside ESCLUSA_FILE_ROOTS (${folder})`,
    '/channels/0/directories/1/registerLength FIJO needs a record length above 0',
    '/channels/0/directories/2/filePath leads out of the allowed folders by a link',
    '/channels/0/integrations/preEmisionFile scripts are off on this node: ESCLUSA_SCRIPT_ROOTS is not set',
  ])
})

test('a script that a link leads out of the script roots is a fault of the file', async (t) => {
  const { folder, faults } = await reader(t)
  const scripts = join(folder, 'scripts')
  mkdirSync(scripts)
  symlinkSync('/bin/sh', join(scripts, 'out.sh'))
  const roots = { fileRoots: [], scriptRoots: [scripts] }
  const exceptionFile = join(scripts, 'out.sh')
  assert.deepEqual(said(faults(withChannel({ integrations: { exceptionFile } }), { roots })), [
    '/channels/0/integrations/exceptionFile leads out of the allowed folders by a link',
  ])
})

test('automation is exactly one of watch, every and cron', async (t) => {
  const { faults } = await reader(t)
  const automated = (automation: object) => said(faults(withChannel({ automation })))
  for (const right of [
    { watch: true },
    { every: '30s' },
    { every: '5m' },
    { every: '1h' },
    { cron: '0 6 * * 1-5' },
  ])
    assert.deepEqual(automated(right), [])
  const one = '/channels/0/automation must have exactly one of watch, every and cron'
  assert.deepEqual(automated({}), [one])
  assert.deepEqual(automated({ watch: true, every: '5m' }), [one])
  assert.deepEqual(automated({ watch: false }), ['/channels/0/automation/watch must be true'])
  assert.deepEqual(automated({ every: '5 minutes' }), [
    '/channels/0/automation/every must be a time such as 30s, 5m or 1h',
  ])
  for (const cron of ['at six', '0 25 * * *', '0 0 30 2 *'])
    assert.deepEqual(automated({ cron }), [
      '/channels/0/automation/cron is not a cron expression such as "0 6 * * 1-5"',
    ])
})

test('over OFTP2 an application that does not fit needs an alias that does', async (t) => {
  const { faults } = await reader(t)
  const form = 'at most 8 characters of A-Z 0-9 / - . & ( )'
  const named = (code: string, more: object = {}, contact: object = {}) =>
    said(faults(withChannel({ code, ...more }, contact)))
  assert.deepEqual(named('BANCO-ACME-NOMINAS1'), [])
  for (const application of ['NOMINAS12', 'nomina', 'NO_MINA'])
    assert.deepEqual(named(`BANCO-ACME-${application}`), [
      `/channels/0/code the application ${application} does not fit OFTP2 (${form}): give the channel an alias that does`,
    ])
  assert.deepEqual(named('BANCO-ACME-NOMINAS12', { alias: 'NOM/12' }), [])
  assert.deepEqual(named('BANCO-ACME-NOMINAS12', { alias: 'still too long' }), [
    `/channels/0/alias must be ${form}`,
  ])
  const folder = { protocol: 'folder', folder: { inbox: '/a', outbox: '/b' } }
  assert.deepEqual(named('BANCO-ACME-long_application', {}, folder), [])
})

test('a contact has what its protocol needs', async (t) => {
  const { read, faults } = await reader(t)
  const contact = (more: object) => said(faults({ contacts: [{ id: 'acme', ...more }] }))
  assert.deepEqual(contact({ protocol: 'folder' }), [
    '/contacts/0/protocol folder needs the section folder: { inbox, outbox }',
  ])
  assert.deepEqual(contact({ protocol: 'sftp' }), [
    '/contacts/0/protocol sftp needs the section sftp (this node calls) or access (the partner calls)',
  ])
  assert.deepEqual(contact({ protocol: 'sftp', sftp: { username: 'x', password: 'y' } }), [
    '/contacts/0/sftp/hostKeys is required',
  ])
  assert.deepEqual(contact({ protocol: 'sftp', sftp: { username: 'x', password: 'y', hostKeys: [] } }), [
    '/contacts/0/sftp/hostKeys must have at least 1 item',
  ])
  assert.deepEqual(
    contact({ protocol: 'sftp', sftp: { username: 'x', password: 'y', hostKeys: ['MD5:aa'], inbox: '/' } }),
    [
      '/contacts/0/sftp/hostKeys/0 must be a fingerprint as ssh-keygen -l prints it: SHA256: and 43 characters',
    ],
  )
  assert.deepEqual(
    contact({ protocol: 'sftp', access: { username: 'x', authorizedKeys: ['command="sh" ssh-rsa AAAA'] } }),
    [
      '/contacts/0/access/authorizedKeys/0 must be a public key line without options, such as ssh-ed25519 AAAA…',
    ],
  )
  assert.deepEqual(contact({ oftp2: { bufferSize: 100, credit: 1000, id: 'lower' } }), [
    '/contacts/0/oftp2/bufferSize must be at least 128',
    '/contacts/0/oftp2/credit must be at most 999',
    '/contacts/0/oftp2/id must be made of A-Z 0-9 / - . & ( ) and spaces',
  ])
  assert.deepEqual(contact({ oftp2: { suite: '07', user: 'TOO LONG A NAME', sessions: 0, restart: 'no' } }), [
    '/contacts/0/oftp2/suite must be one of 01, 02, 03, 04, 05, 06',
    '/contacts/0/oftp2/user must have at most 8 characters',
    '/contacts/0/oftp2/sessions must be at least 1',
    '/contacts/0/oftp2/restart must be true or false',
  ])
  assert.deepEqual(contact({ oftp2: { suite: '04', user: 'X', sessions: 1, restart: false } }), [])
  assert.deepEqual(contact({ oftp2: { tls: { ca: 'no', key: 'no' } } }), [
    '/contacts/0/oftp2/tls/ca is not a certificate in PEM form',
    '/contacts/0/oftp2/tls/key is not a private key in PEM form',
  ])
  assert.deepEqual(contact({ remoteIPs: [{ ipAddress: 'acme.example', port: 70_000 }] }), [
    '/contacts/0/remoteIPs/0/ipAddress is not an IPv4 or IPv6 address',
    '/contacts/0/remoteIPs/0/port must be from 1 to 65535',
  ])
  const connection = { advancedConfigurationTransmission: { downloadConf: true } }
  const access = { username: 'x', password: 'y' }
  const sftp = { username: 'x', password: 'y', hostKeys: [`SHA256:${'A'.repeat(43)}`], inbox: '/' }
  const warnings = (sections: object) =>
    read(withChannel({ connection }, { protocol: 'sftp', ...sections })).warnings
  assert.deepEqual(warnings({ access }), [], 'that the partner has taken the file is its receipt')
  assert.match(
    warnings({ sftp }).join(),
    /downloadConf has no effect: an SFTP server that this node calls gives no receipt/,
  )
})

test('weak passwords and wrong hashes are refused', async (t) => {
  const { faults } = await reader(t)
  const user = (more: object) =>
    said(
      faults({
        users: [{ username: 'ana-of-banco', email: 'ana@banco.example', role: 'ROLE_ADMIN', ...more }],
      }),
    )
  assert.deepEqual(user({ password: 'short' }), ['/users/0/password must have at least 12 characters'])
  assert.deepEqual(user({ password: 'ANA-OF-BANCO' }), [
    '/users/0/password must not be the username or the email',
  ])
  assert.deepEqual(user({ passwordHash: 'x' }), [
    '/users/0/passwordHash is not an Argon2id hash of the form $argon2id$v=19$…',
  ])
  assert.deepEqual(user({ password: 'long enough it is', passwordHash: 'x' }), [
    '/users/0/passwordHash cannot stand beside password',
  ])
})

test('any text that a field may hold comes back from an export’s YAML as it was', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('5.2', 'yes', 'null', '~', '*x', '<<', '06:00', ' x', 'x ', 'a\r\nb\n', '# no'),
  )
  fc.assert(
    fc.property(text, text, (name, localKey) => {
      const written = { channels: [{ name, security: { localKey } }] }
      const { value, faults } = parseYaml(toYaml(written))
      assert.deepEqual(faults, [])
      assert.deepEqual(value, written)
    }),
  )
})

test('readers of YAML 1.1 take no text of an export for something else', () => {
  const texts = [
    'no',
    'NO',
    'y',
    'Off',
    '02:30',
    '12:30:45',
    '1_000',
    '0o17',
    '017',
    '0b11',
    '2026-12-24',
    '1e3',
  ]
  const written = { closed: texts, open: [7, true, 'plain text', '/srv/banco'] }
  assert.deepEqual(parse(toYaml(written), { version: '1.1' }), written)
  assert.match(toYaml(written), /- plain text\n +- \/srv\/banco\n$/, 'what is plain to all stays plain')
})

test('a hash that no receipt can prove over OFTP2 is warned of', async (t) => {
  const { read } = await reader(t)
  const { certificatePem } = await makeTestKey('partner')
  const of = (channel: object) =>
    read(withChannel(channel)).warnings.map((line) => line.replace(/^.*:\d+:\d+: /, ''))
  const why =
    'proves nothing over OFTP2 without security.rsaRemoteKey: only a signed receipt shows a hash, so any receipt will do; ' +
    'the key is not here, and one in the database stays'
  const crc = { connection: { advancedConfigurationTransmission: { crc: true } } }
  assert.deepEqual(of({ validationHashFiles: true }), [`/channels/0/validationHashFiles ${why}`])
  assert.deepEqual(of(crc), [`/channels/0/connection/advancedConfigurationTransmission/crc ${why}`])
  assert.deepEqual(of({ ...crc, validationHashFiles: true, security: { rsaRemoteKey: certificatePem } }), [])
  assert.deepEqual(of({ validationHashFiles: true, direction: 'RECEPCION' }), [], 'it has nothing to send')
})

test('a certificate that has ended or has not begun is warned of', async (t) => {
  const { read } = await reader(t)
  const year = 365 * 24 * 60 * 60 * 1000
  const certificate = async (from: number) => {
    const now = new Date(Date.now() + from)
    return (await generateSelfSigned({ commonName: 'acme', bits: 2048, days: 30, now })).certificatePem
  }
  const of = async (from: number) =>
    read(withChannel({ security: { rsaRemoteKey: await certificate(from) } })).warnings.map((line) =>
      line.replace(/^.*:\d+:\d+: /, ''),
    )
  const nothing = 'nothing is signed, encrypted or believed with it'
  const where = '/channels/0/security/rsaRemoteKey holds a certificate that'
  const [ended = '', ...noMore] = await of(-year)
  assert.match(ended, new RegExp(`^${where} ended on [-\\d]{10}: ${nothing}$`))
  const [early = '', ...neither] = await of(year)
  assert.match(early, new RegExp(`^${where} begins on [-\\d]{10}: ${nothing} before$`))
  assert.deepEqual([noMore, neither, await of(0)], [[], [], []])
  // In front of our own stands a chain that is valid for longer.
  const now = new Date(Date.now() - year)
  const own = await generateSelfSigned({ commonName: 'own', bits: 2048, days: 30, now })
  const rsaLocalKey = [own.privateKeyPem, await certificate(0), own.certificatePem].join('\n')
  const [ofOurs = ''] = read(withChannel({ security: { rsaLocalKey } })).warnings
  assert.match(ofOurs, /rsaLocalKey holds a certificate that ended on/)
})

test('a file in another alphabet than UTF-8 is refused, with the place', async (t) => {
  const { folder } = await reader(t)
  const file = join(folder, 'latin.yaml')
  writeFileSync(file, Buffer.from('localEntities:\n  - { code: A, name: Espa\xf1a }\n', 'latin1'))
  assert.throws(() => readPlatform(file, { env: {}, roots: { fileRoots: [], scriptRoots: [] } }), {
    message: `${file} has one fault:\n${file}:2:26: this is not UTF-8: save the file in UTF-8`,
  })
})

test('a file that is not there is told', async (t) => {
  const { folder } = await reader(t)
  assert.throws(
    () => readPlatform(join(folder, 'gone.yaml'), { env: {}, roots: { fileRoots: [], scriptRoots: [] } }),
    /gone.yaml cannot be read \(ENOENT\)/,
  )
})

test('a key without which an OFTP2 partner proves nothing is warned of, and refused where the file takes it away', async (t) => {
  const { read, faults } = await reader(t)
  const of = (security: object) =>
    read(withChannel({ security })).warnings.map((line) => line.replace(/^.*:\d+:\d+: /, ''))
  const unchecked =
    '/channels/0/security/remoteKey is needed for authentication PASSWORD: without it the partner’s password is not ' +
    'checked; it is not here, and one in the database stays'
  assert.deepEqual(of({ authentication: 'PASSWORD', localKey: 'OURS' }), [unchecked])
  assert.deepEqual(of({ localKey: 'OURS' }), [unchecked], 'PASSWORD is the default where keys are set')
  assert.deepEqual(of({ authentication: 'PASSWORD', localKey: 'OURS', remoteKey: 'THEIRS' }), [])
  assert.deepEqual(of({ version: '1' }), [], 'nobody asked for a proof')
  assert.equal(of({ authentication: 'CERTIFICATE' }).length, 2)
  assert.deepEqual(said(faults(withChannel({ security: { authentication: 'PASSWORD', remoteKey: null } }))), [
    '/channels/0/security/remoteKey is needed for authentication PASSWORD: without it the partner’s password is not checked',
  ])
})

test('a session secret that is empty is refused, wherever the file has it from', async (t) => {
  const { folder, faults } = await reader(t)
  writeFileSync(join(folder, 'empty.secret'), '\n')
  const channel = { code: 'BANCO-ACME-NOMINA', contact: 'acme' }
  const security = { localKey: '', remoteKey: { file: 'empty.secret' } }
  assert.deepEqual(said(faults({ ...BASE, channels: [{ ...channel, security }] })), [
    '/channels/0/security/localKey must not be empty: null removes it',
    '/channels/0/security/remoteKey must not be empty: null removes it',
  ])
})

test('encryption that is off, passwords that OFTP2 cannot carry and keys that are none are warned of and not refused', async (t) => {
  const { read } = await reader(t)
  const pointersOf = (platform: Platform) =>
    read(platform).warnings.map((line) => line.replace(/^.*:\d+:\d+: /, '').split(' ')[0])
  const passwords = (localKey: string, remoteKey: string) =>
    pointersOf(withChannel({ security: { localKey, remoteKey } }))
  assert.deepEqual(pointersOf(withChannel({ security: { ciphrate: 'FILE' } })), [
    '/channels/0/security/ciphrate',
  ])
  const [ours, theirs] = ['/channels/0/security/localKey', '/channels/0/security/remoteKey']
  assert.deepEqual(passwords('much too long', 'ñ'), [ours, theirs])
  assert.deepEqual(passwords(' BLANK', 'BLANK '), [ours, theirs])
  assert.deepEqual(passwords('pass-1.2', 'A B(&)/'), [])

  const sftp = { username: 'u', hostKeys: [`SHA256:${'A'.repeat(43)}`], inbox: '/in' }
  const access = { username: 'z' }
  const contact = (more: Partial<PlatformContact>) => pointersOf(withChannel({}, more))
  const one = await makeTestKey('one')
  const other = await makeTestKey('other')
  const keyed = (privateKey: string) => contact({ protocol: 'sftp', sftp: { ...sftp, privateKey } })
  assert.deepEqual(keyed('no key at all'), ['/contacts/0/sftp/privateKey'])
  assert.deepEqual(keyed(one.privateKeyPem), [])
  const openssh = '-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaA==\n-----END OPENSSH PRIVATE KEY-----\n'
  assert.deepEqual(keyed(openssh), [], 'only the SSH library can read it')
  assert.deepEqual(keyed('PuTTY-User-Key-File-2: ssh-rsa\r\nEncryption: none'), [])
  const putty = 'PuTTY-User-Key-File-3: ssh-rsa\r\nEncryption: none'
  assert.deepEqual(keyed(putty), ['/contacts/0/sftp/privateKey'], 'the SSH library does not read it')
  const authorized = (key: string) =>
    contact({ protocol: 'sftp', access: { ...access, authorizedKeys: [key] } })
  const whole = 'AAAAC3NzaC1lZDI1NTE5AAAAIGw0pRBt6RIHhp3RTrCVhRKVZ4M8cTo5kNqKZQKZnk4p'
  assert.deepEqual(authorized('ssh-ed25519 AAAA'), ['/contacts/0/access/authorizedKeys/0'])
  assert.deepEqual(authorized(`ssh-rsa ${whole}`), ['/contacts/0/access/authorizedKeys/0'])
  assert.deepEqual(authorized(`ssh-ed25519 ${whole} ana`), [])
  const tls = (key: string) => contact({ oftp2: { tls: { cert: one.certificatePem, key } } })
  assert.deepEqual(tls(other.privateKeyPem), ['/contacts/0/oftp2/tls/key'])
  assert.deepEqual(tls(one.privateKeyPem), [])
})

test('every certificate of a partner’s TLS must be readable, not the first alone', async (t) => {
  const { read } = await reader(t)
  const { certificatePem } = await makeTestKey('authority')
  const broken = certificatePem.replace('\nMII', '\nMIX')
  const of = (ca: string) => () => read(withChannel({}, { oftp2: { tls: { ca, cert: ca } } }))
  assert.throws(of(certificatePem + broken), {
    message:
      /oftp2\/tls\/ca holds a certificate that cannot be read[^]*tls\/cert holds a certificate that cannot/,
  })
  assert.doesNotThrow(of(certificatePem + certificatePem))
})
