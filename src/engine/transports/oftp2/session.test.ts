import assert from 'node:assert/strict'
import { createHash, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import test, { afterEach } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { NodeError } from '../../../errors.ts'
import type { Envelope, OwedReceipt, RecordFormat, Session, WireFile } from '../transport.ts'
import { contentOf } from '../../../../test/support/oftp2/host.ts'
import type { PairOptions } from '../../../../test/support/oftp2/ends.ts'
import { SAMPLES, TrialServer } from '../../../../test/support/oftp2/partner.ts'
import { reachAll } from '../../../../test/support/reach.ts'
import {
  CALLED,
  CALLER,
  keyPairs,
  makePair,
  never,
  noise,
  nothingOpen,
  Progress,
  push,
  TrialEnds,
  variableRecords,
  wireFile,
  tidy,
} from '../../../../test/support/oftp2/ends.ts'

afterEach(tidy)

const U: RecordFormat = { kind: 'U', recordLength: 0 }
const T: RecordFormat = { kind: 'T', recordLength: 0 }
const F80: RecordFormat = { kind: 'F', recordLength: 80 }
const V200: RecordFormat = { kind: 'V', recordLength: 200 }

const FILES: [string, Buffer, RecordFormat][] = [
  ['U', noise(70_001), U],
  ['U of whole blocks', noise(64 * 1024), U],
  ['T', Buffer.from('one line\r\nanother\r\n'.repeat(900)), T],
  ['F', noise(80 * 700), F80],
  ['F of one octet', noise(3000), { kind: 'F', recordLength: 1 }],
  ['F longer than a buffer', noise(99_999 * 3), { kind: 'F', recordLength: 99_999 }],
  ['V', variableRecords(900, 200), V200],
  ['V longer than a buffer', variableRecords(9, 65_535, 60_000), { kind: 'V', recordLength: 65_535 }],
  ['V of any length', variableRecords(50, 300), { kind: 'V', recordLength: 0 }],
  ['empty U', Buffer.alloc(0), U],
  ['empty T', Buffer.alloc(0), T],
  ['empty F', Buffer.alloc(0), F80],
  ['empty V', Buffer.alloc(0), V200],
  ['V of empty records', Buffer.alloc(2 * 300), V200],
  ['larger than every buffer', noise(5_000_003), U],
]

/** A caller that knows nothing but the standard. */
const OF_THE_STANDARD: PairOptions = { caller: { settings: { user: 'OTHER' } } }

async function withEnds(options: PairOptions, run: (ends: TrialEnds) => Promise<void>): Promise<void> {
  const ends = new TrialEnds(options)
  try {
    await run(ends)
  } finally {
    await ends.close()
  }
}

/** A small file goes another way, with the same outcome. */
const BOTH = [
  ['', false],
  [' (in memory)', true],
] as const

const BUFFERS: [string, { bufferSize?: number; credit?: number }, boolean][] = [
  ['the default buffers', {}, false],
  ['the default buffers, compressed', {}, true],
  ['buffers of 128 and credit 1', { bufferSize: 128, credit: 1 }, false],
  ['buffers of 128 and credit 1, compressed', { bufferSize: 128, credit: 1 }, true],
  ['buffers of 99999 and credit 999', { bufferSize: 99_999, credit: 999 }, false],
  ['buffers of 129 and credit 7', { bufferSize: 129, credit: 7 }, true],
]

for (const [title, settings, compression] of BUFFERS) {
  test(`every format goes both ways with ${title}`, async () => {
    const end = { settings, compression }
    await withEnds({ caller: end, called: end }, async (ends) => {
      const small = settings.bufferSize !== undefined && settings.bufferSize < 1000
      const fits = FILES.filter(([, content]) => !small || content.length < 66_000)
      const files = BOTH.flatMap(([way, inMemory]) =>
        fits.map(([name, content, format]) => [`${name}${way}`, content, format, { inMemory }] as const),
      )
      ends.called.onTurn = async (session) => {
        for (const [name, content, format, options] of files)
          await push(session, wireFile(content, format, { name: `back ${name}`, ...options }))
      }
      const session = await ends.call()
      for (const [name, content, format, options] of files) {
        const progress = new Progress()
        const file = wireFile(content, format, { name, ...options })
        assert.equal((await push(session, file, progress)).receipt, 'awaited')
        assert.equal(progress.safePosition, content.length)
      }
      await session.fetch(never)
      await session.close()
      for (const [way, host] of [
        ['', ends.called],
        ['back ', ends.caller],
      ] as const) {
        assert.equal(host.complete.length, files.length)
        for (const [name, content, format] of files) {
          const got = host.complete.find((one) => one.offer.name === way + name)
          assert.deepEqual(got?.offer.format, format, name)
          assert.ok(
            contentOf(got).equals(content),
            `${way}${name}: ${contentOf(got).length} of ${content.length} octets`,
          )
        }
      }
    })
  })
}

test('what a file is travels with it: application, name, key, envelope', async () => {
  await withEnds({}, async (ends) => {
    const protection = { cipher: 'AES-256-CBC', digest: 'sha256' } as const
    const envelope: Envelope = { signed: true, compressed: true, encrypted: false, ...protection }
    const key = { name: 'Año nuevo_con un nombre muy, muy largo.txt', date: '20270101', time: '2359590042' }
    const session = await ends.call()
    const options = {
      key,
      envelope,
      name: 'Año nuevo – 年.txt',
      application: 'NOM-1',
      signedReceipt: true,
      originalSize: 5000,
    }
    await push(session, wireFile(variableRecords(20, 90), { kind: 'V', recordLength: 90 }, options))
    await session.close()
    const [got] = ends.called.complete
    assert.equal(got?.offer.name, 'Año nuevo – 年.txt')
    assert.equal(got?.offer.application, 'NOM-1')
    assert.equal(got?.offer.key.date, '20270101')
    assert.equal(got?.offer.key.time, '2359590042')
    assert.match(got?.offer.key.name ?? '', /^ANO-NUEVO-CON-UN--[0-9A-F]{8}$/)
    assert.deepEqual(got?.offer.envelope, envelope)
    assert.equal(got?.offer.receiptDigest, 'sha256')
    assert.deepEqual(contentOf(got), variableRecords(20, 90))
  })
})

const pairs = keyPairs()

test(
  'files go both ways over TLS, pinned to the partner’s certificate',
  { skip: pairs === undefined ? 'no openssl here' : false },
  async () => {
    if (pairs === undefined) return
    const [, called] = pairs
    const secure = { security: { encrypted: true } }
    await withEnds(
      { tls: called, called: secure, caller: { security: { encrypted: true, rsaRemoteKey: called.cert } } },
      async (ends) => {
        ends.called.onTurn = async (session) => {
          await push(session, wireFile(noise(3_000_000, 3), U))
        }
        const session = await ends.call()
        assert.equal(session.encrypted, true)
        await push(session, wireFile(noise(3_000_000, 2), U))
        await session.fetch(never)
        await session.close()
        assert.ok(contentOf(ends.called.complete[0]).equals(noise(3_000_000, 2)))
        assert.ok(contentOf(ends.caller.complete[0]).equals(noise(3_000_000, 3)))
        assert.equal(ends.called.complete[0]?.offer.encryptedSession, true)
      },
    )
  },
)

test(
  'a partner with another certificate than the pinned one, or than the CA allows, is not spoken to',
  { skip: pairs === undefined ? 'no openssl here' : false },
  async () => {
    if (pairs === undefined) return
    const [other, called] = pairs
    await withEnds(
      { tls: called, caller: { security: { encrypted: true, rsaRemoteKey: other.cert } } },
      async (ends) => {
        const [shown, kept] = [called, other].map(({ cert }) =>
          new X509Certificate(cert).fingerprint256.replaceAll(':', '').toLowerCase(),
        )
        const message = new RegExp(
          `is not the one that is kept for it: it shows SHA-256 ${shown}, kept is ${kept}$`,
        )
        await assert.rejects(ends.call(), { code: 'login_refused', message })
      },
    )
    await withEnds(
      { tls: called, caller: { security: { encrypted: true }, settings: { tls: { ca: other.cert } } } },
      async (ends) => {
        await assert.rejects(ends.call(), { code: 'login_refused' })
      },
    )
    await withEnds({ tls: called, caller: { security: { encrypted: true } } }, async (ends) => {
      await assert.rejects(ends.call(), { code: 'login_refused' })
    })
    await withEnds(
      { tls: called, caller: { security: { encrypted: true }, settings: { tls: { ca: called.cert } } } },
      async (ends) => {
        const session = await ends.call()
        await session.close()
      },
    )
  },
)

test('a caller that does not encrypt is refused where the channel asks for it', async () => {
  await withEnds({ called: { security: { encrypted: true } } }, async (ends) => {
    await assert.rejects(ends.call(), { code: 'remote_refused', message: /ESID 10/ })
    assert.equal(ends.called.refusals.length, 1)
  })
})

const passwords = (localKey: string, remoteKey: string) => ({
  security: { authentication: 'PASSWORD' as const, localKey, remoteKey },
})

test('passwords are checked both ways, in upper case', async () => {
  await withEnds(
    { caller: passwords('alpha', 'Beta-2'), called: passwords('BETA-2', 'ALPHA') },
    async (ends) => {
      await (await ends.call()).close()
    },
  )
  await withEnds({ caller: passwords('ALPHA', 'BETA'), called: passwords('BETA', 'GAMMA') }, async (ends) => {
    await assert.rejects(ends.call(), { code: 'login_refused', message: /ESID 04/ })
    assert.match(ends.called.refusals[0]?.reason ?? '', /password/)
  })
  await withEnds(
    { caller: passwords('ALPHA', 'BETA'), called: passwords('WRONG', 'ALPHA') },
    async (ends) => {
      await assert.rejects(ends.call(), { code: 'login_refused' })
    },
  )
  await withEnds({ caller: passwords('far too long', 'BETA') }, async (ends) => {
    await assert.rejects(ends.call(), { code: 'bad_use' })
  })
})

test('an unknown caller gets ESID 03, a busy node ESID 08', async () => {
  await withEnds({}, async (ends) => {
    ends.called.partners.clear()
    await assert.rejects(ends.call(), { code: 'login_refused', message: /ESID 03/ })
  })
  await withEnds({ limits: { sessions: 1 } }, async (ends) => {
    const first = await ends.call()
    await assert.rejects(ends.call(), { code: 'remote_busy' })
    await first.close()
  })
})

test('two ends that only receive, or only send, do not come together', async () => {
  for (const ways of ['S', 'R'] as const) {
    await withEnds({ caller: { ways }, called: { ways } }, async (ends) => {
      await assert.rejects(ends.call(), { code: 'remote_refused', message: /ESID 10/ })
    })
  }
})

test('ends that send one way only keep to it', async () => {
  await withEnds({ caller: { ways: 'R' } }, async (ends) => {
    ends.called.onTurn = async (session) => {
      await push(session, wireFile(noise(500), U))
    }
    const session = await ends.call()
    await assert.rejects(push(session, wireFile(noise(10), U)), { code: 'remote_refused' })
    await session.fetch(never)
    await session.close()
    assert.equal(ends.caller.complete.length, 1)
  })
})

const keys = (own: string, partner: string) => ({
  security: { authentication: 'CERTIFICATE' as const, rsaLocalKey: own, rsaRemoteKey: partner },
})

test(
  'keys prove both ends, and a wrong key ends the session',
  { skip: pairs === undefined ? 'no openssl here' : false },
  async () => {
    if (pairs === undefined) return
    const [caller, called] = pairs
    await withEnds(
      { caller: keys(caller.key, called.cert), called: keys(called.key, caller.cert) },
      async (ends) => {
        const session = await ends.call()
        await push(session, wireFile(noise(500), U))
        await session.close()
        assert.equal(ends.called.complete.length, 1)
      },
    )
    await withEnds(
      { caller: keys(called.key, called.cert), called: keys(called.key, caller.cert) },
      async (ends) => {
        await assert.rejects(ends.call(), { code: 'login_refused' })
      },
    )
    await withEnds(
      { caller: keys(caller.key, caller.cert), called: keys(called.key, caller.cert) },
      async (ends) => {
        await assert.rejects(ends.call(), { code: 'login_refused' })
      },
    )
    await withEnds({ called: keys(called.key, caller.cert) }, async (ends) => {
      await assert.rejects(ends.call(), { code: 'insecure_session', message: /ESID 12/ })
    })
  },
)

test('receipts come back in the same session, and in a later one', async () => {
  await withEnds({}, async (ends) => {
    ends.called.acknowledges = true
    const first = wireFile(noise(500), U)
    const session = await ends.call()
    await push(session, first)
    await session.fetch(never)
    assert.deepEqual(
      ends.caller.receipts.map((one) => [one.positive, one.key.time, one.originator]),
      [[true, first.key.time, 'O0013000001CALLER']],
    )
    assert.equal(ends.called.owed.length, 0)
    await session.close()
    ends.called.owed.push({
      ...ends.caller.receipts[0],
      id: 'late',
      positive: false,
      reason: 'the disk is full',
      reasonCode: '34',
      suite: '00',
    } as OwedReceipt)
    const later = await ends.call()
    await later.close()
    assert.deepEqual(
      ends.caller.receipts.map((one) => [one.positive, one.reasonCode, one.reason]),
      [
        [true, '', ''],
        [false, '34', 'processing failed (NERP 34): the disk is full'],
      ],
    )
    assert.equal(ends.called.owed.length, 0)
  })
})

test('a file that waits while the partner ends the session in order has not been tried', async () => {
  await withEnds(OF_THE_STANDARD, async (ends) => {
    const session = await ends.call()
    const fetching = session.fetch(never)
    const pushing = push(session, wireFile(noise(500), U))
    await assert.rejects(pushing, { code: 'unavailable' })
    await fetching
    assert.equal(ends.called.files.size, 0)
  })
})

test('a called end that has spoken closes at once, though the caller keeps the session', async () => {
  await withEnds({}, async (ends) => {
    ends.called.acknowledges = true
    const session = await ends.call()
    await push(session, wireFile(noise(500), U))
    await session.fetch(never)
    const closing = ends.called.sessions[0]?.close()
    assert.ok(ends.called.sessions[0]?.ended.aborted, 'it waits for the caller')
    await closing
    assert.ok(session.ended.aborted)
  })
})

test('the caller delivers what it owes before it sends files', async () => {
  await withEnds({}, async (ends) => {
    ends.caller.acknowledges = true
    ends.called.onTurn = async (session) => {
      if (ends.called.turns === 1) await push(session, wireFile(noise(500), U))
    }
    const session = await ends.call()
    await session.fetch(never)
    assert.equal(ends.called.receipts.length, 1)
    await session.close()
    assert.equal(ends.caller.owed.length, 0)
  })
})

test(
  'a signed receipt carries its hash and proves it',
  { skip: pairs === undefined ? 'no openssl here' : false },
  async () => {
    if (pairs === undefined) return
    const [caller, called] = pairs
    const options = {
      caller: { security: { rsaLocalKey: caller.key, rsaRemoteKey: called.cert } },
      called: { security: { rsaLocalKey: called.key, rsaRemoteKey: caller.cert } },
    }
    for (const [suite, digest] of [
      ['02', 'sha1'],
      ['04', 'sha256'],
      ['06', 'sha512'],
    ] as const) {
      const caller = { ...options.caller, settings: { suite } }
      await withEnds({ ...options, caller }, async (ends) => {
        ends.called.acknowledges = true
        const content = noise(5000)
        const session = await ends.call()
        await push(session, wireFile(content, U, { signedReceipt: true }))
        await session.close()
        assert.equal(ends.caller.receipts[0]?.signed, true)
        assert.equal(ends.caller.receipts[0]?.hash, createHash(digest).update(content).digest('hex'))
      })
    }
    await withEnds({ ...options, caller: { security: { rsaRemoteKey: caller.cert } } }, async (ends) => {
      ends.called.acknowledges = true
      const session = await ends.call()
      await push(session, wireFile(noise(10), U, { signedReceipt: true }))
      await session.close()
      assert.equal(ends.caller.receipts[0]?.signed, false)
      assert.match(ends.caller.receipts[0]?.reason ?? '', /not valid/)
    })
  },
)

test('a called end with nothing to say ends the session when it gets the turn', async () => {
  await withEnds({}, async (ends) => {
    const session = await ends.call()
    await session.fetch(never)
    assert.equal(session.ended.aborted, true)
    await assert.rejects(push(session, wireFile(noise(10), U)), { code: 'unavailable' })
    await session.close()
    assert.equal(ends.called.turns, 1)
  })
})

test('a kept session takes further files after a rest', async () => {
  await withEnds({}, async (ends) => {
    const session = await ends.call()
    await push(session, wireFile(noise(100), U))
    await nextTurn()
    await push(session, wireFile(noise(200), U))
    assert.equal(session.ended.aborted, false)
    assert.equal(ends.called.sessions.length, 1)
    await session.close()
    assert.equal(ends.called.complete.length, 2)
  })
})

test('a session that rests too long is ended by the called end, and a push then says so', async () => {
  await withEnds({ called: { timeouts: { idleMs: 2500, ackMs: 2500 } } }, async (ends) => {
    const session = await ends.call()
    await push(session, wireFile(noise(100), U))
    if (!session.ended.aborted) await once(session.ended, 'abort')
    await assert.rejects(push(session, wireFile(noise(100), U)), { code: 'timed_out' })
    await session.close()
  })
})

test('the called end can push while it listens: it asks for the turn and gets it', async () => {
  await withEnds({}, async (ends) => {
    const session = await ends.call()
    const [other] = ends.called.sessions
    assert.ok(other)
    const waiting = push(other, wireFile(noise(900), U))
    await push(session, wireFile(noise(100), U))
    await waiting
    await push(session, wireFile(noise(100), U))
    assert.equal(ends.caller.complete.length, 1)
    assert.equal(ends.called.complete.length, 2)
    await session.close()
  })
})

test('the called end has something to say while the caller rests: it gets the turn, and the caller gets it back', async () => {
  await withEnds({}, async (ends) => {
    ends.called.acknowledges = true
    const session = await ends.call()
    const [other] = ends.called.sessions
    assert.ok(other?.prompt)
    // Before the caller has said anything, after a turn of the called end, and after one that was asked for.
    await push(other, wireFile(noise(900), U))
    await push(session, wireFile(noise(100), U))
    await session.fetch(never)
    await push(other, wireFile(noise(900), U))
    await push(other, wireFile(noise(900), U))
    await push(session, wireFile(noise(100), U))
    assert.equal(session.ended.aborted, false)
    assert.equal(ends.caller.complete.length, 3)
    assert.equal(ends.called.complete.length, 2)
    await session.close()
  })
})

test('both ends have something to say again and again, and none of it waits for ever', async () => {
  await withEnds({}, async (ends) => {
    const session = await ends.call()
    const [other] = ends.called.sessions
    assert.ok(other)
    const some = Array.from({ length: 40 }, (_, seed) => seed)
    const chain = async (end: Session) => {
      for (const seed of some) await push(end, wireFile(noise(700, seed), U))
    }
    await Promise.all([chain(session), chain(other), chain(session), chain(other)])
    assert.equal(session.ended.aborted, false)
    assert.equal(ends.caller.complete.length, 80)
    assert.equal(ends.called.complete.length, 80)
    await session.close()
  })
})

test('a partner that does not know of wishes for the turn is not told of any', async () => {
  await withEnds(OF_THE_STANDARD, async (ends) => {
    const session = await ends.call()
    const [other] = ends.called.sessions
    assert.ok(other)
    assert.equal(other.prompt, false)
    const stop = new AbortController()
    const waiting = other.push(wireFile(noise(900), U), new Progress(), stop.signal)
    await push(session, wireFile(noise(100), U))
    // It came with the end of the caller's file, as the standard has it.
    await waiting
    await session.close()
  })
})

test('pushes asked for at once go one after the other', async () => {
  await withEnds({}, async (ends) => {
    const session = await ends.call()
    await Promise.all([1, 2, 3, 4].map((seed) => push(session, wireFile(noise(3000, seed), U))))
    await session.close()
    assert.equal(ends.called.complete.length, 4)
  })
})

for (const [way, inMemory] of BOTH)
  test(`a refused file leaves the session usable, and says whether to try again${way}`, async () => {
    await withEnds({}, async (ends) => {
      const session = await ends.call()
      const answers: [NodeError, string, RegExp][] = [
        [new NodeError('not_found', 'no channel takes it'), 'remote_refused', /SFNA 02.*no channel takes it/],
        [new NodeError('no_space', 'no space in /secret/path'), 'remote_busy', /SFNA 06/],
        [new NodeError('disk_fault', 'the disk of /secret/path'), 'remote_busy', /SFNA 12/],
        [new NodeError('duplicate_file', 'again'), 'duplicate_file', /SFNA 13/],
        [new NodeError('conflict', 'not just now'), 'remote_busy', /SFNA 99.*not just now/],
        [new NodeError('name_taken', '/secret/path exists'), 'remote_refused', /SFNA 01/],
        [new NodeError('internal', 'at line 7 of /secret/path'), 'remote_refused', /SFNA 99/],
      ]
      for (const [thrown, code, message] of answers) {
        ends.called.before.offer = () => {
          throw thrown
        }
        await assert.rejects(push(session, wireFile(noise(10), U, { inMemory })), (error: NodeError) => {
          assert.equal(error.code, code)
          assert.match(error.message, message)
          assert.doesNotMatch(error.message, /secret/)
          return true
        })
      }
      ends.called.before = {
        complete: () => Promise.reject(new NodeError('bad_signature', 'not signed by you')),
      }
      await assert.rejects(push(session, wireFile(noise(10), U, { inMemory })), {
        code: 'remote_refused',
        message: /EFNA 21/,
      })
      ends.called.before = {}
      await push(session, wireFile(noise(10), U, { inMemory }))
      await session.close()
      assert.equal(ends.called.complete.length, 1)
    })
  })

for (const [when, fault] of [
  ['the database does not answer', new NodeError('unavailable', 'the database does not answer')],
  ['the disk is full', new NodeError('no_space', 'no space left')],
  ['the disk fails', new NodeError('disk_fault', 'the disk reports an error (EIO)')],
] as const)
  for (const [way, inMemory] of BOTH)
    test(`a file that came whole while ${when} is not refused: the session ends${way}`, async () => {
      await withEnds({}, async (ends) => {
        const session = await ends.call()
        ends.called.before.complete = () => Promise.reject(fault)
        // An EFNA would say that the file is not there, and its refusal could not be tried again.
        await assert.rejects(push(session, wireFile(noise(10), U, { inMemory })), {
          code: 'remote_busy',
          message: /ESID 08/,
        })
        await session.close()
      })
    })

for (const [way, inMemory] of BOTH)
  test(`a file that may be there already and is, counts as sent${way}`, async () => {
    await withEnds({}, async (ends) => {
      const file = wireFile(noise(10), U, { inMemory })
      const session = await ends.call()
      await push(session, file)
      await assert.rejects(push(session, file), { code: 'duplicate_file' })
      assert.equal((await push(session, { ...file, mayBeThere: true })).receipt, 'awaited')
      await session.close()
    })
  })

test('a file that the standard cannot carry is refused before anything is said', async () => {
  await withEnds({}, async (ends) => {
    const session = await ends.call()
    const bad = [
      wireFile(noise(81), F80),
      wireFile(noise(10), U, { application: 'too long for it' }),
      wireFile(noise(10), { kind: 'V', recordLength: 70_000 }),
    ]
    for (const file of bad) await assert.rejects(push(session, file), { code: 'file_refused' })
    const names: [string, RegExp][] = [
      ['a\\b.txt', /backslash/],
      [' a.txt', /white space/],
      ['a.txt ', /white space/],
      ['a\u0007.txt', /control characters/],
    ]
    for (const [name, message] of names)
      await assert.rejects(push(session, wireFile(noise(10), U, { name })), { code: 'file_refused', message })
    await push(session, wireFile(noise(10), U))
    await session.close()
    assert.equal(ends.called.files.size, 1)
  })
})

test('a file that changes under way, or is no chain of records, ends the session and leaves no file', async () => {
  const broken = [
    {
      ...wireFile(noise(3000), U),
      source: {
        size: 5000,
        read: async (into: Uint8Array, at: number) => (at < 3000 ? Math.min(into.length, 3000 - at) : 0),
      },
    },
    ...[false, true].flatMap((inMemory) => [
      wireFile(Buffer.concat([variableRecords(5, 100), Buffer.from([0, 99, 1])]), V200, { inMemory }),
      wireFile(variableRecords(50, 300), V200, { inMemory }),
    ]),
  ]
  for (const file of broken) {
    await withEnds({}, async (ends) => {
      const session = await ends.call()
      await assert.rejects(
        push(session, file),
        (error: NodeError) => error.code === 'file_changed' || error.code === 'file_refused',
      )
      assert.equal(session.ended.aborted, true)
      await session.close()
      assert.equal(ends.called.complete.length, 0)
    })
  }
})

test('a session that is cut in the middle of a file says nothing of the files that wait for their turn', async () => {
  const changed = {
    ...wireFile(noise(3000), U),
    source: {
      size: 5000,
      read: async (into: Uint8Array, at: number) => (at < 3000 ? Math.min(into.length, 3000 - at) : 0),
    },
  }
  const stop = new AbortController()
  const causes: [WireFile, AbortSignal, string][] = [
    [changed, new AbortController().signal, 'file_changed'],
    [wireFile(noise(100), U), stop.signal, 'lease_lost'],
  ]
  for (const [file, signal, code] of causes)
    await withEnds({}, async (ends) => {
      const [offered, hold] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      ends.called.before.offer = () => {
        offered.resolve()
        return hold.promise
      }
      const session = await ends.call()
      const first = session.push(file, new Progress(), signal)
      const waiting = [1, 2].map(() => push(session, wireFile(noise(100), U)))
      const rejected = [
        assert.rejects(first, { code }),
        ...waiting.map((one) => assert.rejects(one, { code: 'cancelled', message: /another file/ })),
      ]
      await offered.promise
      if (code === 'lease_lost') stop.abort(new NodeError('lease_lost', 'another node has it'))
      hold.resolve()
      await Promise.all(rejected)
      await assert.rejects(push(session, wireFile(noise(100), U)), { code: 'cancelled' })
      await session.close()
    })
})

test('a disk that fails under way ends the session, and the sender may try again', async () => {
  await withEnds({}, async (ends) => {
    ends.called.before.write = () => Promise.reject(new NodeError('no_space', 'full'))
    const session = await ends.call()
    await assert.rejects(push(session, wireFile(noise(5_000_000), U)), { code: 'remote_busy' })
    await session.close()
    assert.equal(ends.called.abandoned.length, 1)
  })
})

test('stopping a push that waits takes it back; stopping one under way ends the session', async () => {
  await withEnds({}, async (ends) => {
    const hold = Promise.withResolvers<void>()
    ends.called.before.offer = () => hold.promise
    const session = await ends.call()
    const stops = [new AbortController(), new AbortController()] as const
    const running = session.push(wireFile(noise(100), U), new Progress(), stops[0].signal)
    const waiting = session.push(wireFile(noise(100), U), new Progress(), stops[1].signal)
    stops[1].abort()
    await assert.rejects(waiting, { code: 'cancelled' })
    stops[0].abort()
    await assert.rejects(running, { code: 'cancelled' })
    assert.equal(session.ended.aborted, true)
    hold.resolve()
    await session.close()
  })
})

test('a call that is stopped leaves nothing open', async () => {
  await withEnds({}, async (ends) => {
    const stop = new AbortController()
    const hold = Promise.withResolvers<void>()
    ends.called.before.admit = () => {
      stop.abort()
      return hold.promise
    }
    await assert.rejects(ends.call(undefined, stop.signal), { code: 'cancelled' })
    hold.resolve()
  })
})

test('a listener that closes ends its sessions and says that it closes down', async () => {
  const ends = new TrialEnds()
  const session = await ends.call()
  await push(session, wireFile(noise(100), U))
  const closing = ends.close()
  await once(session.ended, 'abort')
  await assert.rejects(push(session, wireFile(noise(100), U)), { code: 'remote_busy' })
  await session.close()
  await closing
})

test('closing while a file comes in lets it finish', async () => {
  await withEnds({}, async (ends) => {
    const session = await ends.call()
    const hold = Promise.withResolvers<void>()
    ends.called.before.complete = () => hold.promise
    const pushing = push(session, wireFile(noise(4000), U))
    const [other] = ends.called.sessions
    while ([...ends.called.files.values()].every((file) => file.size < 4000)) await nextTurn()
    const closed = other?.close()
    hold.resolve()
    await pushing
    await closed
    await session.close()
    assert.equal(ends.called.complete.length, 1)
  })
})

test('a caller that closes while the partner has the turn it asked for lets it send, and ends in order', async () => {
  const server = new TrialServer()
  const ends = new TrialEnds()
  const arriving = server.next()
  const calling = ends.call(await server.listen())
  const partner = await arriving
  await partner.say(SAMPLES.SSRM).expect('SSID')
  partner.say({ ...SAMPLES.SSID, code: CALLED, user: 'TURNWISH' })
  const session = await calling
  await partner.sayOctets(Uint8Array.of(0x10, 0, 0, 4)).expect('CD')
  const closing = session.close()
  const file = { ...SAMPLES.SFID, destination: CALLER, originator: CALLED }
  await partner.say(file).expect('SFPA')
  const { changeDirection } = await partner.say(SAMPLES.DATA, SAMPLES.EFID).expect('EFPA')
  assert.equal(changeDirection, 'Y')
  // It may go on with its next file, or end the session if it has none.
  await partner.say(SAMPLES.CD).expect('CD')
  partner.say(SAMPLES.ESID).hangUp()
  await closing
  assert.equal(ends.caller.complete.length, 1)
  await server.close()
  await nothingOpen()
})

test('a receiver whose disk stalls stops the sender, and takes the rest when it goes on', async () => {
  await withEnds(
    { caller: { settings: { credit: 999 } }, called: { settings: { credit: 999 } } },
    async (ends) => {
      const stalled = Promise.withResolvers<void>()
      ends.called.before.write = () => stalled.promise
      const session = await ends.call()
      const content = noise(60_000_000)
      const progress = new Progress()
      const pushing = push(session, wireFile(content, U), progress)
      for (let still = 0, last = -1; still < 500; still = progress.position === last ? still + 1 : 0) {
        last = progress.position
        await nextTurn()
      }
      // Four regions, an exchange buffer and what the system's socket buffers hold: never the whole file.
      assert.ok(
        progress.position > 1_000_000 && progress.position < 40_000_000,
        `${progress.position} octets were taken`,
      )
      stalled.resolve()
      await pushing
      await session.close()
      assert.ok(contentOf(ends.called.complete[0]).equals(content))
    },
  )
})

test('a second file may come in while the first of another session is still moving', async () => {
  await withEnds({}, async (ends) => {
    const sessions = await Promise.all([1, 2, 3].map(() => ends.call()))
    await Promise.all(sessions.map((session, at) => push(session, wireFile(noise(2_500_000, at + 1), U))))
    await Promise.all(sessions.map((session) => session.close()))
    assert.deepEqual(
      ends.called.complete
        .map((file) => [1, 2, 3].findIndex((seed) => contentOf(file).equals(noise(2_500_000, seed))))
        .toSorted((a, b) => a - b),
      [0, 1, 2],
    )
  })
})

test('what is brought over a session is for the channels that exist for that very session', async () => {
  await withEnds({}, async (ends) => {
    const first = await ends.call()
    const party = ends.called.partners.get(CALLER)
    assert.ok(party)
    const wider = reachAll('caller', 'partner')
    ends.called.partners.set(CALLER, { ...party, reach: wider })
    const second = await ends.call()
    await push(first, wireFile(noise(10), U, { name: 'first' }))
    await push(second, wireFile(noise(10), U, { name: 'second' }))
    ends.called.onTurn = async (session) =>
      void (await push(session, wireFile(noise(10), U, { name: 'third' })))
    await second.fetch(never)
    await Promise.all([first.close(), second.close()])
    const reaches = new Map(
      [...ends.called.complete, ...ends.caller.complete].map(({ offer }) => [offer.name, offer.reach]),
    )
    assert.equal(reaches.get('first'), party.reach)
    assert.equal(reaches.get('second'), wider)
    // The caller asked for it over a session of its own.
    assert.deepEqual([reaches.get('third')?.openedBy, reaches.get('third')?.contactId], ['node', 'called'])
  })
})

test(
  'a certificate that the pinned one has signed is not the pinned one',
  { skip: pairs === undefined ? 'no openssl here' : false },
  async () => {
    if (pairs === undefined) return
    const [, authority] = pairs
    const leaf = makePair('leaf', authority)
    const caller = { security: { encrypted: true, rsaRemoteKey: authority.cert } }
    await withEnds({ tls: { key: leaf.key, cert: leaf.cert + authority.cert }, caller }, async (ends) => {
      await assert.rejects(ends.call(), { code: 'login_refused' })
    })
  },
)
