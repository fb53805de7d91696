// A server that stops answering, hangs up, answers what was never asked, or answers in any order: every call ends with
// a clear error within its timeout, and nothing stays open.

import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { after, before, test } from 'node:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { NodeError } from '../../../errors.ts'
import type { ErrorCode } from '../../../errors.ts'
import { sftpCall } from '../../../../test/support/sftp/call.ts'
import { fingerprint, good, startRaw } from '../../../../test/support/sftp/raw-server.ts'
import type { Behaviour, SignIn } from '../../../../test/support/sftp/raw-server.ts'
import { HostDouble, sourceOf } from '../../../../test/support/sftp/session-host.ts'
import { loadSsh } from '../ssh/library.ts'
import { MODE, STATUS, TYPE, U64, packet } from '../ssh/sftp-packet.ts'
import type { Attrs, Field } from '../ssh/sftp-packet.ts'
import { fileOf } from '../../../../test/support/transport-ends.ts'
import type { Call, PushProgress } from '../transport.ts'

import type { SftpSettings } from '../../../contract/contact-settings.ts'
import { sftpClientTransport } from './sftp-client.ts'

const { ssh2 } = loadSsh()
const never = new AbortController().signal
let folder: string

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'esclusa-raw-'))
})
after(() => rm(folder, { recursive: true, force: true }))

/** For what is to time out. Everything else has all the time that a slow machine needs. */
const SHORT = { connectMs: 300, syncMs: 500, ackMs: 200, idleMs: 60_000 }
const LONG = { connectMs: 120_000, syncMs: 120_000, ackMs: 120_000, idleMs: 120_000 }

function callTo(port: number, timeouts = LONG): Call<SftpSettings> {
  const signIn = { username: 'u', password: 'secret', hostKeys: [fingerprint()] }
  return sftpCall(port, { ...signIn, inbox: '/in', outbox: '/out' }, { timeouts })
}

const quiet = { moved: () => {}, safe: () => {}, placing: () => Promise.resolve() }

const IN_SHORT = { timeouts: SHORT }

type Given = {
  signIn?: SignIn
  timeouts?: typeof LONG
  size?: number
  privateKey?: string
  placing?: PushProgress['placing']
}

async function push(behave: Behaviour, given: Given = {}): Promise<void> {
  const { signIn, timeouts, size = 200_000, privateKey, placing = quiet.placing } = given
  const raw = await startRaw(behave, signIn)
  try {
    const call = callTo(raw.port, timeouts)
    const settings = { ...call.settings, privateKey }
    const session = await sftpClientTransport().connect({ ...call, settings }, new HostDouble(folder))
    try {
      await session.push(fileOf('x', sourceOf(Buffer.alloc(size))), { ...quiet, placing }, never)
    } finally {
      await session.close()
    }
  } finally {
    // Our end is gone: the server sees its socket close without help.
    for (const socket of raw.sockets) await new Promise((resolve) => socket.once('close', resolve))
    await raw.stop()
  }
}

function failsWith(code: ErrorCode) {
  return (error: unknown) => error instanceof NodeError && error.code === code
}

test('a good server without any extension takes a file', async () => {
  await push((request, channel) => good(request, channel))
})

test('keyboard-interactive answers with the password', async () => {
  await push((request, channel) => good(request, channel), { signIn: 'question' })
})

test('a server that asks for the password first and for a key then gets both', async () => {
  const { private: privateKey } = ssh2.utils.generateKeyPairSync('ecdsa', { bits: 256 })
  await push((request, channel) => good(request, channel), { signIn: 'both', privateKey })
})

test('a server that never answers the sign-in times out', async () => {
  await assert.rejects(
    push(() => {}, { signIn: 'silence', timeouts: SHORT }),
    failsWith('timed_out'),
  )
})

test('a port that accepts and says nothing times out', async () => {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => void sockets.add(socket)).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  await assert.rejects(
    sftpClientTransport().connect(callTo(port, SHORT), new HostDouble(folder)),
    failsWith('timed_out'),
  )
  for (const socket of sockets) socket.destroy()
  await new Promise((resolve) => server.close(resolve))
})

for (const [name, type] of Object.entries({
  INIT: TYPE.INIT,
  LSTAT: TYPE.LSTAT,
  OPEN: TYPE.OPEN,
  WRITE: TYPE.WRITE,
  CLOSE: TYPE.CLOSE,
  RENAME: TYPE.RENAME,
})) {
  test(`a server that stops answering at ${name} times out`, async () => {
    let silent = false
    const work = push((request, channel) => {
      silent ||= request.type === type
      if (!silent) good(request, channel)
    }, IN_SHORT)
    await assert.rejects(work, failsWith('timed_out'))
  })

  test(`a server that answers all but ${name} times out`, async () => {
    const work = push((request, channel) => {
      if (request.type !== type) good(request, channel)
    }, IN_SHORT)
    await assert.rejects(work, failsWith('timed_out'))
  })

  test(`a server that hangs up at ${name} is a lost connection`, async () => {
    const work = push((request, channel, socket) => {
      if (request.type === type) socket.destroy()
      else good(request, channel)
    })
    await assert.rejects(work, failsWith('connection_lost'))
  })

  test(`a server that closes only the channel at ${name} is a lost connection`, async () => {
    const work = push((request, channel) => {
      if (request.type === type) channel.close()
      else good(request, channel)
    })
    await assert.rejects(work, failsWith('connection_lost'))
  })
}

for (const type of [TYPE.OPEN, TYPE.WRITE, TYPE.CLOSE])
  for (const [status, words] of [
    [STATUS.FAILURE, 'write: No space left on device'],
    [STATUS.FAILURE, 'Disk quota exceeded'],
    [STATUS.NO_SPACE_ON_FILESYSTEM, ''],
    [STATUS.QUOTA_EXCEEDED, ''],
  ] as const)
    test(`a disk that is full at request ${type}, told by status ${status} ${words}, is a fault that can pass`, async () => {
      const work = push((request, channel) => {
        if (request.type === type) channel.write(packet(TYPE.STATUS, request.id, status, words, ''))
        else good(request, channel)
      })
      await assert.rejects(work, failsWith('no_space'))
    })

for (const type of [TYPE.WRITE, TYPE.CLOSE])
  test(`what has come before the disk was full at request ${type} is removed`, async () => {
    const removed: string[] = []
    const work = push((request, channel) => {
      if (request.type === TYPE.REMOVE) removed.push(request.body.text())
      if (request.type !== type) return good(request, channel)
      channel.write(packet(TYPE.STATUS, request.id, STATUS.FAILURE, 'Disk quota exceeded', ''))
    })
    await assert.rejects(work, failsWith('no_space'))
    assert.match(removed.join(), /^\/in\/\.esclusa-[0-9a-f]{32}\.part$/)
  })

test('the full disk of our own database leaves at the partner what a later attempt can use', async () => {
  const removed: string[] = []
  const placing = () =>
    Promise.reject(new NodeError('no_space', 'the database’s disk is full', { retryAfterSeconds: 60 }))
  const work = push(
    (request, channel) => {
      if (request.type === TYPE.REMOVE) removed.push(request.body.text())
      good(request, channel)
    },
    { placing },
  )
  await assert.rejects(work, failsWith('no_space'))
  assert.deepEqual(removed, [])
})

test('a failure that says nothing of room is a refusal', async () => {
  const work = push((request, channel) => {
    if (request.type !== TYPE.OPEN) return good(request, channel)
    channel.write(packet(TYPE.STATUS, request.id, STATUS.FAILURE, 'Failure of quota.txt', ''))
  })
  await assert.rejects(work, failsWith('remote_refused'))
})

const LONG_WORDS = `no\0t${'\u001b[2J\u202e'.repeat(30_000)}`

test('words of a refusal are shown without control characters, and cut', async () => {
  const refuse = (words: string) =>
    push((request, channel) => {
      if (request.type !== TYPE.OPEN) return good(request, channel)
      channel.write(packet(TYPE.STATUS, request.id, STATUS.FAILURE, words, ''))
    })
  await assert.rejects(refuse(LONG_WORDS), isShort(/^the partner's server refused to open \S+: no t \[2J/))
  await assert.rejects(refuse('\0\u001b'), isShort(/: status 4$/))
})

test('words of a server that hangs up before it has shown its key are shown in the same way', async (t) => {
  const name = Buffer.from(LONG_WORDS.slice(0, 20_000))
  const [reason, length] = [Buffer.from([0, 0, 0, 2]), Buffer.alloc(4)]
  length.writeUInt32BE(name.length)
  const payload = Buffer.concat([Buffer.from([SSH_DISCONNECT]), reason, length, name, Buffer.alloc(4)])
  const padding = 4 + 8 - ((5 + payload.length + 4) % 8)
  const head = Buffer.alloc(5)
  head.writeUInt32BE(1 + payload.length + padding)
  head[4] = padding
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.write('SSH-2.0-raw\r\n')
    socket.write(Buffer.concat([head, payload, Buffer.alloc(padding)]))
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  const calling = sftpClientTransport().connect(callTo(port), new HostDouble(folder))
  await assert.rejects(calling, isShort(/: no t \[2J/))
})

const SSH_DISCONNECT = 1

function isShort(shown: RegExp) {
  return ({ message }: Error) =>
    shown.test(message) && message.length < 700 && !/[\p{Cc}\p{Cf}]/u.test(message)
}

test('an answer nobody asked for breaks the session', async () => {
  const work = push((request, channel) => {
    if (request.type === TYPE.OPEN) channel.write(packet(TYPE.HANDLE, request.id + 1000, 'h'))
    else good(request, channel)
  })
  await assert.rejects(work, failsWith('protocol_violation'))
})

test('an answer of the wrong kind breaks the transfer', async () => {
  const work = push((request, channel) => {
    if (request.type === TYPE.WRITE) channel.write(packet(TYPE.HANDLE, request.id, 'h'))
    else good(request, channel)
  })
  await assert.rejects(work, failsWith('protocol_violation'))
})

test('a packet longer than any answer breaks the session', async () => {
  const work = push((request, channel) => {
    if (request.type === TYPE.OPEN) channel.write(Buffer.from([0x7f, 0xff, 0xff, 0xff, 101]))
    else good(request, channel)
  })
  await assert.rejects(work, failsWith('protocol_violation'))
})

test('answers in the opposite order are taken', async () => {
  const held: { type: number; id: number }[] = []
  await push((request, channel) => {
    if (request.type !== TYPE.WRITE) return good(request, channel)
    held.push({ type: request.type, id: request.id })
    if (held.length === 7) for (const one of held.reverse()) good(one, channel)
  })
  assert.equal(held.length, 7)
})

test('files of a listing that leaves out what they are are asked about and taken, those that cannot be are left', async () => {
  const bytes = Buffer.from('the whole of it')
  const whole = { size: bytes.length, permissions: MODE.FILE | 0o600, mtime: 1_700_000_000 }
  const listed: Record<string, Attrs> = {
    bare: {},
    'without-times': { size: whole.size, permissions: whole.permissions },
    'without-rights': { size: whole.size, mtime: whole.mtime },
    folder: {},
    secret: {},
    faulty: {},
  }
  const refusals: Record<string, number> = {
    '/out/secret': STATUS.PERMISSION_DENIED,
    '/out/faulty': STATUS.FAILURE,
  }
  const removed: string[] = []
  let shown = false
  const serve: Behaviour = ({ type, id, body }, channel) => {
    const answer = (kind: number, ...fields: Field[]) => channel.write(packet(kind, id, ...fields))
    if (type === TYPE.OPENDIR) return answer(TYPE.HANDLE, 'd')
    if (type === TYPE.LSTAT || type === TYPE.FSTAT) {
      const path = body.text()
      const refused = refusals[path]
      if (refused !== undefined) return answer(TYPE.STATUS, refused, '', '')
      const permissions = path.endsWith('/folder') ? MODE.FOLDER : whole.permissions
      return answer(TYPE.ATTRS, { attrs: { ...whole, permissions } })
    }
    if (type === TYPE.READ) {
      body.bytes()
      const rest = bytes.subarray(body.u64())
      return rest.length > 0 ? answer(TYPE.DATA, rest) : answer(TYPE.STATUS, STATUS.EOF, '', '')
    }
    if (type === TYPE.REMOVE) removed.push(body.text())
    if (type !== TYPE.READDIR) return good({ type, id }, channel)
    if (shown) return answer(TYPE.STATUS, STATUS.EOF, '', '')
    shown = true
    const entries = Object.entries(listed).flatMap(([name, attrs]): Field[] => [name, name, { attrs }])
    answer(TYPE.NAME, Object.keys(listed).length, ...entries)
  }
  const raw = await startRaw(serve)
  const host = new HostDouble(folder)
  const session = await sftpClientTransport().connect(callTo(raw.port), host)
  try {
    await session.fetch(never)
  } finally {
    await session.close()
    await raw.stop()
  }
  const expected = ['bare', 'without-rights', 'without-times']
  assert.deepEqual(host.received.map(({ offer }) => offer.name).sort(), expected)
  for (const name of expected) assert.deepEqual(await host.bytesOf(name), [bytes])
  assert.deepEqual(
    removed.sort(),
    expected.map((name) => `/out/${name}`),
  )
})

test('an empty part of a listing is its end', async () => {
  let asked = 0
  const raw = await startRaw(({ type, id }, channel) => {
    if (type === TYPE.OPENDIR) return channel.write(packet(TYPE.HANDLE, id, 'd'))
    if (type !== TYPE.READDIR) return good({ type, id }, channel)
    // Later than anybody should ask, so that the test ends.
    channel.write(++asked < 20 ? packet(TYPE.NAME, id, 0) : packet(TYPE.STATUS, id, STATUS.EOF, '', ''))
  })
  const session = await sftpClientTransport().connect(callTo(raw.port), new HostDouble(folder))
  try {
    await session.fetch(never)
  } finally {
    await session.close()
    await raw.stop()
  }
  assert.equal(asked, 1)
})

test('a refused write says how much room the partner has, and calls its disk full only where the file does not fit', async () => {
  const free = 100_000
  const full = (size: number) => async () => {
    await push(
      ({ type, id }, channel) => {
        if (type === TYPE.INIT) channel.write(packet(TYPE.VERSION, 3, 'statvfs@openssh.com', '2'))
        else if (type === TYPE.WRITE) channel.write(packet(TYPE.STATUS, id, STATUS.FAILURE, 'no', ''))
        else if (type === TYPE.EXTENDED) {
          const numbers = [1, 1, 0, 0, free, 0, 0, 0, 0, 0, 0].map((one) => new U64(one))
          channel.write(packet(TYPE.EXTENDED_REPLY, id, ...numbers))
        } else good({ type, id }, channel)
      },
      { size },
    )
  }
  await assert.rejects(full(200_000), { code: 'no_space', message: /disk is full \(100000 octets free\)/ })
  await assert.rejects(full(2), {
    code: 'no_space',
    message: /refused to write: no; .*\(100000 octets free\)/,
  })
})
