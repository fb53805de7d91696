// A node that partners call with the SFTP clients they have: what they put becomes a reception in the inbound
// directory, what they take completes an emission, an upload goes on after a restart of the node, and there is
// nothing outside their own folders.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { sampleBytes } from '../support/transport-ends.ts'
import { fingerprintOf, readPrivateKey } from '../../src/engine/transports/ssh/keys.ts'
import { commandExists, freePort, makeKey, startCuttingProxy } from '../support/sftp/openssh.ts'
import type { KeyPair } from '../support/sftp/openssh.ts'
import type { PlatformChannel, PlatformContact } from '../../src/contract/administration/platform-file.ts'
import { closeAfter, tempFolder, waitFor } from '../support/harness.ts'
import { startSftpNode } from './node.ts'
import type { SftpNode } from './node.ts'

const need = (...names: string[]) => {
  const absent = ['ssh-keygen', ...names].filter((name) => !commandExists(name))
  return absent.length > 0 && `${absent.join(', ')} not installed`
}

type Outcome = { code: number; out: string }
type Scene = SftpNode & {
  port: number
  hostKey: string
  folder: string
  key: KeyPair
  dataDir: string
  /** How the partner signs in, for another `apply`. */
  access: Pick<PlatformContact, 'access'>
}

// Made once, because making a key of that size takes its time.
const HOST_KEY = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  publicKeyEncoding: { type: 'pkcs1', format: 'pem' },
}).privateKey

async function scene(t: TestContext): Promise<Scene> {
  const folder = await tempFolder(t)
  const dataDir = await tempFolder(t)
  const key = await makeKey(folder, 'partner')
  const port = await freePort()
  await writeFile(join(dataDir, 'sftp-host-key.pem'), HOST_KEY, { mode: 0o600 })
  const hostKey = fingerprintOf(readPrivateKey(HOST_KEY, undefined).getPublicSSH())
  const own = await startSftpNode(t, { ESCLUSA_SFTP_PORT: String(port) }, dataDir)
  const access = { access: { username: 'acme', authorizedKeys: [key.public] } }
  await own.apply(access, {
    connection: { advancedConfigurationTransmission: { downloadConf: true, registersBlock: 64 } },
  })
  return { ...own, port, hostKey, folder, key, dataDir, access }
}

function run({ folder }: Scene, command: string, args: string[], input = ''): Promise<Outcome> {
  return new Promise((resolve) => {
    const options = { cwd: folder, env: { ...process.env, HOME: folder }, timeout: 300_000 }
    const child = execFile(command, args, options, (error, out, complaints) =>
      resolve({ code: error === null ? 0 : 1, out: out + complaints }),
    )
    child.stdin?.on('error', () => {})
    child.stdin?.end(input)
  })
}

const SSH = [
  'StrictHostKeyChecking=no',
  'UserKnownHostsFile=/dev/null',
  'BatchMode=yes',
  'IdentitiesOnly=yes',
]

function sftp(partner: Scene, script: string, port = partner.port): Promise<Outcome> {
  const options = SSH.flatMap((option) => ['-o', option])
  const args = [
    '-q',
    '-F',
    '/dev/null',
    '-P',
    String(port),
    '-i',
    partner.key.path,
    ...options,
    '-b',
    '-',
    'acme@127.0.0.1',
  ]
  return run(partner, 'sftp', args, script)
}

/** What each client is told for: put up.bin in `in`, get down.bin from `out`. */
const CLIENTS: Record<string, (partner: Scene, t: TestContext) => Promise<Outcome>> = {
  sftp: (partner) => sftp(partner, 'put up.bin /NOMINA/in/\nget /NOMINA/out/down.bin down.bin\n'),
  lftp: (partner) => {
    const ssh = `ssh -a -x -F /dev/null -i ${partner.key.path} ${SSH.map((option) => `-o ${option}`).join(' ')}`
    const script = [
      `set sftp:connect-program "${ssh}"`,
      `open -u acme,none -p ${partner.port} sftp://127.0.0.1`,
      'put -O /NOMINA/in up.bin',
      'get /NOMINA/out/down.bin',
      // It hangs up without closing the file when nothing follows; the listing makes it close what it has read.
      'cls /NOMINA/out',
    ]
    return run(partner, 'lftp', ['-c', script.join('; ')])
  },
  rclone: async (partner) => {
    const remote = `:sftp,host=127.0.0.1,port=${partner.port},user=acme,key_file=${partner.key.path},shell_type=none,disable_hashcheck=true,set_modtime=false:`
    const put = await run(partner, 'rclone', [
      'copyto',
      'up.bin',
      `${remote}/NOMINA/in/up.bin`,
      '--retries',
      '1',
    ])
    if (put.code !== 0) return put
    return run(partner, 'rclone', ['copyto', `${remote}/NOMINA/out/down.bin`, 'down.bin', '--retries', '1'])
  },
  'another node': async (partner, t) => {
    const caller = await startSftpNode(t)
    const sftp = {
      username: 'acme',
      privateKey: partner.key.private,
      hostKeys: [partner.hostKey],
      inbox: '/{application}/in',
      outbox: '/{application}/out',
    }
    await caller.put('up.bin', await readFile(join(partner.folder, 'up.bin')))
    await caller.apply(
      { sftp, remoteIPs: [{ id: 'ip', ipAddress: '127.0.0.1', port: partner.port }] },
      { connection: { ips: ['127.0.0.1'] }, automation: { watch: true } },
    )
    await writeFile(join(partner.folder, 'down.bin'), await caller.arrived('down.bin'))
    return { code: 0, out: '' }
  },
}

for (const [client, exchange] of Object.entries(CLIENTS))
  test(
    `${client} puts a file that is received, and takes one that was sent`,
    { skip: client === 'another node' ? need() : need(client) },
    async (t) => {
      const partner = await scene(t)
      const [up, down] = [sampleBytes(700_001, 1), sampleBytes(600_003, 2)]
      await writeFile(join(partner.folder, 'up.bin'), up)
      await partner.put('down.bin', down)
      const id = await partner.send()
      const { db } = partner.node.store
      const lies = () => db.selectFrom('outbox_file').select('id').executeTakeFirst()
      await waitFor('the file to lie in out', lies)
      assert.ok((await partner.transfers()).includes('EMISION IN_PROGRESS'), 'complete before it was taken')
      const { code, out } = await exchange(partner, t)
      assert.equal(code, 0, out)
      assert.ok((await partner.arrived('up.bin')).equals(up))
      assert.ok((await readFile(join(partner.folder, 'down.bin'))).equals(down))
      assert.equal((await partner.ended(id)).state, 'COMPLETED')
      const over = async () =>
        (await partner.transfers()).sort().join() === 'EMISION COMPLETED,RECEPCION COMPLETED'
      await waitFor('both transfers to be complete', over)
      assert.deepEqual(await partner.list('in'), ['up.bin'])
    },
  )

/** As a node leaves it that dies after it laid the file in `out`, and before it could note that. */
async function dieAfterTheTake({ node }: Scene, id: string): Promise<void> {
  const now = Date.now()
  await node.store.write(async (tx) => {
    await tx.updateTable('outbox_file').set({ taken_at: now }).where('transfer_id', '=', id).execute()
    await tx
      .updateTable('transfer_file')
      .set({ phase: 'STAGED', maybe_visible: 1, receipt: 'POSITIVE' })
      .where('transfer_id', '=', id)
      .execute()
    await tx.updateTable('transfer').set({ receipts_until: null, due_at: now }).where('id', '=', id).execute()
  })
  node.context.wake({ kind: 'due' })
}

test(
  'what the partner took just before the node died is not offered to it again',
  { skip: need() },
  async (t) => {
    const partner = await scene(t)
    await partner.put('down.bin', sampleBytes(1000, 9))
    const id = await partner.send()
    const { db } = partner.node.store
    const waits = () =>
      db.selectFrom('transfer').select('receipts_until').where('id', '=', id).executeTakeFirst()
    await waitFor('it to wait for the partner', async () => (await waits())?.receipts_until ?? null)
    await dieAfterTheTake(partner, id)
    assert.equal((await partner.ended(id)).state, 'COMPLETED')
    const laid = await db.selectFrom('outbox_file').select(['name', 'taken_at']).execute()
    assert.equal(laid.length, 1, JSON.stringify(laid))
  },
)

for (const wish of ['validationHashFiles', 'crc'] as const)
  test(
    `with ${wish} a transfer is complete when the partner has fetched it, and not before`,
    { skip: need('sftp') },
    async (t) => {
      const partner = await scene(t)
      const connection = wish === 'crc' ? { advancedConfigurationTransmission: { crc: true } } : {}
      // Applied over what there is, so what another test relies on is cleared.
      await partner.apply(partner.access, {
        connection,
        ...(wish !== 'crc' && { validationHashFiles: true }),
      })
      const bytes = sampleBytes(300_001, 8)
      await partner.put('down.bin', bytes)
      const id = await partner.send()
      const { db } = partner.node.store
      const waits = () =>
        db.selectFrom('transfer').select('receipts_until').where('id', '=', id).executeTakeFirst()
      await waitFor('it to wait for the partner', async () => (await waits())?.receipts_until ?? null)
      assert.deepEqual(
        await partner.transfers(),
        ['EMISION IN_PROGRESS'],
        'complete before anybody fetched it',
      )
      const { code, out } = await sftp(partner, 'get /NOMINA/out/down.bin down.bin\n')
      assert.equal(code, 0, out)
      assert.equal((await partner.ended(id)).state, 'COMPLETED')
      assert.ok((await readFile(join(partner.folder, 'down.bin'))).equals(bytes))
    },
  )

test('the name that counts is the one given at last', { skip: need('sftp') }, async (t) => {
  const partner = await scene(t)
  const inbound = (group: string, folder: string) => ({
    direction: 'RECEPCION' as const,
    fileGroupsName: group,
    filePath: join(partner.files, folder),
  })
  await partner.apply(partner.access, {
    directories: [inbound('*.xml', 'in/xml'), inbound('*.txt', 'in')],
  })
  const bytes = sampleBytes(300_001, 6)
  await writeFile(join(partner.folder, 'up.bin'), bytes)
  const put = await sftp(
    partner,
    'put up.bin /NOMINA/in/0815.tmp\n-rename /NOMINA/in/0815.tmp /NOMINA/in/a.pdf\n',
  )
  assert.equal(put.code, 0, put.out)
  assert.deepEqual(await partner.list('in'), [], 'no directory takes such a file')
  const { code, out } = await sftp(
    partner,
    [
      'ls /NOMINA/in',
      'put up.bin /NOMINA/in/4711.tmp',
      'put up.bin /NOMINA/in/4712.tmp',
      'rm /NOMINA/in/4712.tmp',
      // Not in the order of their coming: a file without its name keeps nobody waiting.
      'rename /NOMINA/in/4711.tmp /NOMINA/in/b.txt',
      'rename /NOMINA/in/0815.tmp /NOMINA/in/a.txt',
      '',
    ].join('\n'),
  )
  assert.equal(code, 0, out)
  assert.match(out, /0815\.tmp/, 'a refused name leaves the file under its own')
  for (const name of ['a.txt', 'b.txt']) assert.ok((await partner.arrived(name)).equals(bytes), name)
  // One; or two, where more than two seconds went by between the two names.
  const over = async () =>
    /^RECEPCION COMPLETED(,RECEPCION COMPLETED)?$/.test((await partner.transfers()).join())
  await waitFor('what came is over, and there is no more', over)
})

for (const sentAs of ['long.bin', '0815.tmp'])
  test(
    `an upload that was cut goes on after a restart of the node (${sentAs})`,
    { skip: need('sftp') },
    async (t) => {
      const partner = await scene(t)
      const bytes = sampleBytes(4_000_000, 5)
      await writeFile(join(partner.folder, 'long.bin'), bytes)
      const proxy = await startCuttingProxy(partner.port)
      closeAfter(t, () => proxy.stop())
      proxy.cutAfter(2_000_000)
      const there = `/NOMINA/in/${sentAs}`
      assert.equal((await sftp(partner, `put long.bin ${there}\n`, proxy.port)).code, 1)
      const { db } = partner.node.store
      const kept = async () =>
        (await db.selectFrom('partial_file').select('position').executeTakeFirst())?.position ?? 0
      assert.ok((await waitFor('a restart point', kept)) > 0)
      await partner.node.stop()
      const again = await startSftpNode(t, { ESCLUSA_SFTP_PORT: String(partner.port) }, partner.dataDir)
      const rename = sentAs === 'long.bin' ? '' : `rename ${there} /NOMINA/in/long.bin\n`
      const { code, out } = await sftp(partner, `ls -l /NOMINA/in\nreput long.bin ${there}\n${rename}`)
      assert.equal(code, 0, out)
      assert.match(out, new RegExp(`^-rw.* partner .*${sentAs}$`, 'm'), 'the half file is not shown')
      assert.ok((await again.arrived('long.bin')).equals(bytes))
    },
  )

test(
  'the rest of an upload that was cut is removed without another transfer',
  { skip: need('sftp') },
  async (t) => {
    const partner = await scene(t)
    await writeFile(join(partner.folder, 'long.bin'), sampleBytes(4_000_000, 5))
    const proxy = await startCuttingProxy(partner.port)
    closeAfter(t, () => proxy.stop())
    proxy.cutAfter(2_000_000)
    assert.equal((await sftp(partner, 'put long.bin /NOMINA/in/long.bin\n', proxy.port)).code, 1)
    const failed = async () => (await partner.transfers()).join() === 'RECEPCION FAILED'
    await waitFor('the cut upload to fail', failed)
    const { code, out } = await sftp(partner, 'rm /NOMINA/in/long.bin\nls /NOMINA/in\n')
    assert.equal(code, 0, out)
    assert.doesNotMatch(out, /^long\.bin/m)
    const { db } = partner.node.store
    assert.deepEqual(await db.selectFrom('partial_file').select('path').execute(), [])
    assert.ok(await failed(), (await partner.transfers()).join())
  },
)

/** An hour of the day that is not now, in the node's time zone (UTC in tests). */
function otherHours(): { initialHour: string; finishHour: string } {
  const at = (hours: number) => `${String((new Date().getUTCHours() + hours) % 24).padStart(2, '0')}:00`
  return { initialHour: at(6), finishHour: at(7) }
}

test(
  'who may not call is turned away: address, hours, calling end, a channel that is off',
  { skip: need('sftp') },
  async (t) => {
    const partner = await scene(t)
    const calls = (connection: PlatformChannel['connection'], channel: Partial<PlatformChannel> = {}) =>
      partner
        .apply(partner.access, { connection: connection ?? {}, ...channel })
        .then(() => sftp(partner, 'ls /\n'))
    const at = (ips: string[]) => ({ ips, advancedConfigurationConnection: { validateIp: true } })
    assert.equal((await calls(at(['192.0.2.7']))).code, 1, 'from an address that is not the partner’s')
    assert.equal((await calls(at(['192.0.2.7', '127.0.0.1']))).code, 0)
    assert.equal(
      (await calls({ advancedConfigurationConnection: otherHours() })).code,
      1,
      'outside the hours',
    )
    assert.equal(
      (await calls({ advancedConfigurationConnection: { callingEnd: 'LOCAL' } })).code,
      1,
      'this end calls',
    )
    assert.equal((await calls({}, { deactivateChannel: true })).code, 1, 'the channel is off')
    assert.equal((await calls({ advancedConfigurationConnection: { callingEnd: 'REMOTO' } })).code, 0)
    const history = await partner.node.store.db.selectFrom('history').select(['event', 'detail']).execute()
    assert.ok(
      history.some(({ event, detail }) => event === 'CONNECTION_REFUSED' && detail?.includes('127.0.0.1')),
    )
  },
)

test('a channel of one direction takes files or gives them, not both', { skip: need('sftp') }, async (t) => {
  const partner = await scene(t)
  await writeFile(join(partner.folder, 'up.bin'), 'up')
  await partner.put('down.bin', 'down')
  await partner.send()
  const lies = () => partner.node.store.db.selectFrom('outbox_file').select('id').executeTakeFirst()
  await waitFor('the file to lie in out', lies)
  await partner.apply(partner.access, { direction: 'EMISION' })
  assert.equal((await sftp(partner, 'put up.bin /NOMINA/in/up.bin\n')).code, 1)
  await partner.apply(partner.access, { direction: 'RECEPCION' })
  assert.equal((await sftp(partner, 'get /NOMINA/out/down.bin\n')).code, 1)
  assert.equal((await sftp(partner, 'put up.bin /NOMINA/in/up.bin\n')).code, 0)
  assert.equal(String(await partner.arrived('up.bin')), 'up')
})

test('there is no way out of the partner’s folders', { skip: need('sftp') }, async (t) => {
  const partner = await scene(t)
  await writeFile(join(partner.folder, 'x'), 'x')
  const attempts = [
    'get /etc/passwd',
    'get /../../etc/passwd',
    'get /NOMINA/out/../../../../etc/passwd',
    `get ${partner.dataDir}/master.key`,
    'ls /etc',
    'put x /x',
    'put x /NOMINA/x',
    'put x /NOMINA/in/../../../tmp/x',
    'put x /OTHER/in/x',
    'mkdir /NOMINA/in/folder',
    'symlink /etc/passwd /NOMINA/in/link',
    'ln x /NOMINA/in/link',
    'rename /NOMINA/in /elsewhere',
    'rmdir /NOMINA/in',
    'chmod 777 /NOMINA',
  ]
  for (const attempt of attempts) {
    const { code, out } = await sftp(partner, `${attempt}\n`)
    assert.equal(code, 1, `${attempt}: ${out}`)
    assert.doesNotMatch(out, /root:/)
  }
  const { out } = await sftp(partner, 'ls -1a /\nls -1a /..\n')
  const shown = out.split('\n').filter((line) => !line.startsWith('sftp>'))
  const names = shown.map((line) => line.replace(/^.*\//, '')).filter((name) => !/^\.*$/.test(name))
  assert.deepEqual([...new Set(names)], ['NOMINA'])
  assert.deepEqual(await partner.transfers(), [])
})
