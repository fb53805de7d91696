// What the fields of `directories` do.

import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { Directory } from '../../src/contract/channel.ts'
import { field } from './field.ts'
import { Line } from './line.ts'
import { CODE, channelOf, runningRig, startRig, withDirectories } from './rig.ts'
import type { Rig } from './rig.ts'

/** Sends one file through directories of that kind and gives what lies at the partner, or the error's code. */
async function sent(t: TestContext, directory: Directory, bytes: string | Buffer): Promise<Buffer | string> {
  const rig = await runningRig(t, (rig) => withDirectories(rig, directory))
  await rig.put('file.dat', bytes)
  const done = await rig.sendAndEnd()
  if (done.state === 'COMPLETED') return rig.delivered('file.dat')
  assert.deepEqual(await rig.inbox(), [], 'something was sent')
  return (await rig.errorCode(done.id)) ?? ''
}

async function received(
  t: TestContext,
  directory: Directory,
  bytes: string | Buffer,
): Promise<Buffer | string> {
  const rig = await runningRig(t, (rig) => withDirectories(rig, directory))
  await rig.offer('file.dat', bytes)
  await rig.fetch()
  const done = await rig.lastReception()
  return done.state === 'COMPLETED' ? rig.read('in', 'file.dat') : ((await rig.errorCode(done.id)) ?? '')
}

/** The same over a transport that carries records: what travels is the canonical form. */
async function sentAsRecords(t: TestContext, directory: Directory, bytes: string | Buffer) {
  const formats: string[] = []
  const line = new Line({
    protocol: 'oftp2',
    capabilities: { records: true, envelopes: true, oneFileAtATime: true },
    onPush: (push, { format }) => {
      formats.push(`${format.kind} ${format.recordLength}`)
      return push()
    },
  })
  const rig = await startRig(t, { transports: [line] })
  line.leadTo(rig)
  await rig.putContact({ id: 'acme', protocol: 'oftp2' })
  await rig.putChannel(CODE, { ...withDirectories(rig, directory), connection: { ips: ['127.0.0.1'] } })
  await rig.put('file.dat', bytes)
  const done = await rig.run().sendAndEnd()
  assert.equal(done.state, 'COMPLETED', done.error ?? '')
  return { format: formats[0], wire: await rig.delivered('file.dat') }
}

const two = (rig: Rig, change: Directory): Directory[] => [
  { direction: 'RECEPCION', filePath: join(rig.place.files, 'first'), ...change },
  { direction: 'RECEPCION', filePath: join(rig.place.files, 'second') },
]

field('directories.direction', 'which way a directory serves', async (t) => {
  const rig = await runningRig(t, (rig) => ({
    directories: [
      { direction: 'RECEPCION', filePath: join(rig.place.files, 'in') },
      { direction: 'EMISION', filePath: join(rig.place.files, 'out') },
    ],
  }))
  await rig.put('inward.txt', 'must not be sent', join(rig.place.files, 'in'))
  await rig.put('outward.txt', 'o')
  await rig.sendAndEnd()
  assert.deepEqual(await rig.inbox(), ['outward.txt'])
  await rig.offer('new.txt', 'n')
  await rig.fetch()
  assert.deepEqual(await rig.list('in'), ['inward.txt', 'new.txt'])
  assert.deepEqual(await rig.list('out'), ['outward.txt'])
})

field('directories.filePath', 'outbound: a directory, a file or a glob', async (t) => {
  for (const [path, expected] of [
    ['out', ['a.txt', 'b.dat']],
    ['out/b.dat', ['b.dat']],
    ['o*/*.txt', ['a.txt']],
  ] as const) {
    const rig = await runningRig(t, (rig) => ({
      directories: [{ direction: 'EMISION', filePath: join(rig.place.files, path) }],
    }))
    await rig.put('a.txt', 'a')
    await rig.put('b.dat', 'b')
    await rig.put('.hidden', 'h')
    await rig.put('half.part', 'p')
    await rig.sendAndEnd()
    assert.deepEqual(await rig.inbox(), expected, path)
  }
})

field('directories.filePath', 'a folder that exists is meant as it stands, brackets and all', async (t) => {
  const rig = await runningRig(t, (rig) => ({
    directories: [{ direction: 'EMISION', filePath: join(rig.place.files, 'out [old] (1)') }],
  }))
  await rig.put('a.txt', 'a', join(rig.place.files, 'out [old] (1)'))
  assert.equal((await rig.sendAndEnd()).state, 'COMPLETED')
  assert.deepEqual(await rig.inbox(), ['a.txt'])
})

field('directories.filePath', 'inbound: the folder files are put in, made if it is not there', async (t) => {
  const rig = await runningRig(t, (rig) => ({
    directories: [{ direction: 'RECEPCION', filePath: join(rig.place.files, 'deep', 'new') }],
  }))
  await rig.offer('a.txt', 'a')
  assert.equal(await rig.fetch(), undefined)
  assert.deepEqual(await rig.list('deep/new'), ['a.txt'])
})

field('directories.fileGroupsName', 'which names belong to the directory, out and in', async (t) => {
  const rig = await runningRig(t, (rig) =>
    channelOf(rig, {
      directories: [
        { direction: 'EMISION', filePath: join(rig.place.files, 'out'), fileGroupsName: '*.txt, PAY-??.dat' },
        ...two(rig, { fileGroupsName: '*.csv' }),
      ],
    }),
  )
  for (const name of ['a.txt', 'PAY-01.dat', 'PAY-001.dat', 'b.bin']) await rig.put(name, name)
  await rig.sendAndEnd()
  assert.deepEqual(await rig.inbox(), ['PAY-01.dat', 'a.txt'])
  await rig.offer('x.csv', 'x')
  await rig.offer('y.txt', 'y')
  assert.equal(await rig.fetch(), undefined)
  assert.deepEqual([await rig.list('first'), await rig.list('second')], [['x.csv'], ['y.txt']])
})

field('directories.fileGroupsName', 'a name that no inbound directory takes is refused', async (t) => {
  const rig = await runningRig(t, (rig) => withDirectories(rig, { fileGroupsName: '*.csv' }))
  await rig.offer('x.exe', 'x')
  assert.equal(((await rig.fetch()) as { code?: string }).code, 'file_refused')
  assert.deepEqual(await readdir(rig.place.outbox), ['x.exe'])
})

field('directories.fileFormat', 'decides how the file is read as records', async (t) => {
  const text = 'one\ntwo\n'
  for (const [fileFormat, format, wire] of [
    ['BINARIO', 'U 0', text],
    ['HIBRIDO', 'T 0', 'one\r\ntwo\r\n'],
    ['VARIABLE', 'V 10', '\0\x03one\0\x03two'],
    ['FIJO', 'F 3', 'onetwo'],
  ] as const) {
    const registerLength = fileFormat === 'FIJO' ? 3 : 10
    const got = await sentAsRecords(t, { fileFormat, registerLength, delimitator: 'UNIX' }, text)
    assert.deepEqual([got.format, got.wire.toString('latin1')], [format, wire], fileFormat)
  }
})

field(
  'directories.registerLength',
  'FIJO: a file that is no multiple fails before anything is sent',
  async (t) => {
    const fixed: Directory = { fileFormat: 'FIJO', registerLength: 10 }
    assert.equal((await sent(t, fixed, 'x'.repeat(30))).toString(), 'x'.repeat(30))
    assert.equal(await sent(t, fixed, 'x'.repeat(31)), 'file_refused')
    assert.equal(await received(t, fixed, 'x'.repeat(31)), 'file_refused')
  },
)

field(
  'directories.registerLength',
  'VARIABLE: more than a record can have is announced as that',
  async (t) => {
    const variable: Directory = { fileFormat: 'VARIABLE', delimitator: 'UNIX', registerLength: 70_000 }
    assert.equal((await sentAsRecords(t, variable, 'short\n')).format, 'V 65535')
  },
)

field('directories.registerLength', 'VARIABLE: the longest record allowed, 0 for any', async (t) => {
  const lines = 'short\nand a much longer line\n'
  const variable: Directory = { fileFormat: 'VARIABLE', delimitator: 'UNIX' }
  assert.equal(await sent(t, { ...variable, registerLength: 10 }, lines), 'file_refused')
  assert.equal((await sent(t, { ...variable, registerLength: 0 }, lines)).toString(), lines)
})

field('directories.delimitator', 'how records are marked in the local file', async (t) => {
  const wire = '\0\x02ab\0\x01c'
  for (const [delimitator, local] of [
    ['UNIX', 'ab\nc\n'],
    ['DOS', 'ab\r\nc\r\n'],
    ['NINGUNO', '\0\x06\0\0ab\0\x05\0\0c'],
  ] as const) {
    const got = await sentAsRecords(t, { fileFormat: 'VARIABLE', delimitator }, Buffer.from(local, 'latin1'))
    assert.equal(got.wire.toString('latin1'), wire, delimitator)
  }
})

field('directories.alphabet', 'the local file’s: translation starts from it', async (t) => {
  const directory: Directory = { traduction: 'ASCII', translateStatus: true }
  const ebcdic = Buffer.from('c1c2', 'hex')
  assert.deepEqual((await sent(t, { ...directory, alphabet: 'EBCDIC' }, ebcdic)).toString(), 'AB')
  assert.deepEqual(await sent(t, { ...directory, alphabet: 'NINGUNO' }, ebcdic), ebcdic)
})

field('directories.traduction', 'the wire’s: there on the way out, back on the way in', async (t) => {
  const directory: Directory = { alphabet: 'ASCII', traduction: 'EBCDIC', translateStatus: true }
  assert.deepEqual(await sent(t, directory, 'AB'), Buffer.from('c1c2', 'hex'))
  assert.equal((await received(t, directory, Buffer.from('c1c2', 'hex'))).toString(), 'AB')
  const every = Buffer.from(Array.from({ length: 256 }, (_, octet) => octet))
  assert.deepEqual(await received(t, directory, await sent(t, directory, every)), every)
})

field('directories.translateStatus', 'false: nothing is translated', async (t) => {
  const directory: Directory = { alphabet: 'ASCII', traduction: 'EBCDIC', translateStatus: false }
  assert.equal((await sent(t, directory, 'AB')).toString(), 'AB')
  assert.equal((await received(t, directory, 'AB')).toString(), 'AB')
})

field('directories.compression', 'a gzip member in the transfer, whole again at the other end', async (t) => {
  const text = 'packed '.repeat(1000)
  const wire = await sent(t, { compression: true }, text)
  assert.ok(Buffer.isBuffer(wire) && wire.length < 500)
  assert.equal(gunzipSync(wire).toString(), text)
  assert.equal((await received(t, { compression: true }, gzipSync(text))).toString(), text)
  assert.equal((await sent(t, { compression: false }, text)).toString(), text)
})
