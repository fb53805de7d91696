import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { parse } from 'yaml'
import { closeAfter, sqlite, tempFolder, testOnBoth, waitFor, withStore } from '../../test/support/harness.ts'
import type { TestDatabase } from '../../test/support/harness.ts'
import { verifyPassword } from '../accounts/password.ts'
import { PARKED } from '../domain/transfer.ts'
import { NodeError } from '../errors.ts'
import { findAccount, findAccountByEmail, listAccounts } from '../store/accounts.ts'
import { findChannel, listChannels, openChannel, pageOfHistory, updateChannel } from '../store/channels.ts'
import { findContact, listContacts, listLocalEntities, openProtocolSections } from '../store/contacts.ts'
import type { Store } from '../store/database/store.ts'
import { halfFilesOf, putHalfFile } from '../store/transfers/receptions.ts'
import { makeSeal } from '../store/seal.ts'
import { addToOutbox, takeFromOutbox } from '../store/transfers/outbox.ts'
import { findTransfer, insertTransfer, moveTransfer } from '../store/transfers/transfers.ts'
import { applyPlatform } from './apply.ts'
import type { ApplyOptions } from './apply.ts'
import { describePlatform, exportPlatform } from './export.ts'
import { manyChannels, samplePlatform, SECRETS } from '../../test/support/platform-file.ts'
import type { Platform } from '../contract/administration/platform-file.ts'

const seal = makeSeal('a master key of at least 32 bytes')
const NOMINA = 'BANCO-ACME-NOMINA'
const NOW = 1_700_000_000_000

type Setup = {
  store: Store
  platform: Platform
  apply: (platform: Platform, options?: Partial<ApplyOptions>) => Promise<string[]>
}

async function setUp(t: TestContext, database: TestDatabase): Promise<Setup> {
  const store = await withStore(t, database)
  const platform = samplePlatform(await tempFolder(t))
  const apply: Setup['apply'] = async (platform, options) =>
    (await applyPlatform(store, seal, platform, { now: NOW, ...options })).lines
  return { store, platform, apply }
}

function changed(platform: Platform, change: (copy: Required<Platform>) => void): Platform {
  const copy = structuredClone(platform) as Required<Platform> // the sample has every section
  change(copy)
  return copy
}

function refusal(thrown: unknown): true {
  assert.ok(thrown instanceof NodeError)
  assert.equal(thrown.code, 'conflict')
  assert.match(thrown.message, /BANCO-ACME-NOMINA cannot be removed while transfers/)
  return true
}

testOnBoth('apply makes everything that the file names, and a second time nothing', async (t, database) => {
  const { store, platform, apply } = await setUp(t, database)
  assert.deepEqual(await apply(platform), [
    '+ local entity BANCO',
    '+ local entity CAJA',
    '+ user ana',
    '+ user robot',
    '+ contact acme',
    '+ contact beta',
    '+ channel BANCO-ACME-NOMINA',
    '+ channel BANCO-BETA-long_application',
  ])
  assert.deepEqual(await apply(platform), [])

  const channel = await findChannel(store.db, NOMINA)
  assert.ok(channel)
  assert.equal(channel.config.application, 'NOMINA')
  assert.equal(channel.config.localEntity, 'BANCO')
  assert.equal(channel.config.remoteEntity, 'ACME')
  assert.deepEqual(channel.config.security, { version: '1' })
  assert.deepEqual(openChannel(seal, channel).security, platform.channels?.[0]?.security)
  assert.deepEqual(channel.automation, { cron: '0 6 * * 1-5' })
  const { rows } = await pageOfHistory(store.db, NOMINA, { offset: 0, size: 10 })
  assert.deepEqual(
    rows.map(({ event }) => event),
    ['CHANNEL_CREATED'],
  )

  const beta = await findContact(store.db, 'beta')
  assert.ok(beta)
  assert.doesNotMatch(JSON.stringify(beta), /secret-at/)
  assert.deepEqual(openProtocolSections(seal, beta).sftp, platform.contacts?.[1]?.sftp)
  const ana = await findAccount(store.db, 'ana')
  assert.ok(await verifyPassword(SECRETS.password, ana?.passwordHash))
  assert.equal(ana?.auths.editChannels, true)
  assert.equal(ana?.auths.administration, false)
})

testOnBoth(
  'each change is told by its fields and written with history, and what is not in the file stays',
  async (t, database) => {
    const { store, platform, apply } = await setUp(t, database)
    await apply(platform)
    const idBefore = (await findChannel(store.db, NOMINA))?.id
    const other = changed(platform, ({ localEntities, users, contacts, channels }) => {
      localEntities[1] = { code: 'CAJA', name: 'Caja Roja' }
      users[0] = { ...users[0]!, lastName: 'Ruz' }
      contacts[1] = { ...contacts[1]!, sftp: { ...contacts[1]!.sftp!, inbox: '/other' }, name: 'Beta SL' }
      channels[0] = {
        ...channels[0]!,
        name: 'Other',
        security: { ...channels[0]!.security, localKey: 'another' },
      }
      channels.pop()
      users.pop()
    })
    assert.deepEqual(await apply(other), [
      '~ local entity CAJA (name)',
      '~ user ana (lastName)',
      '~ contact beta (sftp, name)',
      '~ channel BANCO-ACME-NOMINA (name, secrets)',
    ])
    assert.deepEqual(await apply(other), [])
    const channel = await findChannel(store.db, NOMINA)
    assert.equal(channel?.id, idBefore)
    assert.equal(channel?.revision, 2)
    const { rows } = await pageOfHistory(store.db, NOMINA, { offset: 0, size: 10 })
    assert.deepEqual(
      rows.map(({ event }) => event),
      ['CHANNEL_UPDATED', 'CHANNEL_CREATED'],
    )
    assert.equal((await listChannels(store.db)).length, 2)
    assert.equal((await listAccounts(store.db)).length, 2)
  },
)

testOnBoth('prune removes what the file does not name', async (t, database) => {
  const { store, platform, apply } = await setUp(t, database)
  await apply(platform)
  const less = changed(platform, (copy) => {
    copy.localEntities.pop()
    copy.users.pop()
    copy.contacts.pop()
    copy.channels.pop()
  })
  const gone = [
    '- local entity CAJA',
    '- user robot',
    '- contact beta',
    '- channel BANCO-BETA-long_application',
  ]
  assert.deepEqual(await apply(less, { prune: true, dryRun: true }), gone)
  assert.deepEqual(await apply(less, { prune: true }), gone)
  assert.deepEqual(await apply(less, { prune: true }), [])
  assert.deepEqual(
    (await listContacts(store.db)).map(({ id }) => id),
    ['acme'],
  )
  assert.deepEqual(
    (await listLocalEntities(store.db)).map(({ code }) => code),
    ['BANCO'],
  )
  const { users: _users, ...withoutUsers } = less
  assert.deepEqual(await apply(withoutUsers, { prune: true }), [], 'a file without users removes none')
})

testOnBoth('a dry run says the same and changes nothing', async (t, database) => {
  const { store, platform, apply } = await setUp(t, database)
  const said = await apply(platform, { dryRun: true })
  assert.equal((await listLocalEntities(store.db)).length, 0)
  assert.equal((await listAccounts(store.db)).length, 0)
  assert.deepEqual(await apply(platform), said)
})

testOnBoth(
  'a channel with a transfer on its way is not removed, and then nothing else happens either',
  async (t, database) => {
    const { store, platform, apply } = await setUp(t, database)
    await apply(platform)
    const made = {
      id: 't1',
      channelCode: NOMINA,
      direction: 'EMISION',
      type: 'MANUAL',
      requestedBy: null,
      retryOf: null,
    } as const
    await store.write((tx) => insertTransfer(tx, { ...made, now: NOW, files: [] }))
    const without = changed(platform, (copy) => {
      copy.channels.shift()
      copy.localEntities[0]!.name = 'Renamed'
    })
    await assert.rejects(apply(without, { prune: true, dryRun: true }), refusal)
    await assert.rejects(apply(without, { prune: true }), refusal)
    assert.equal((await listLocalEntities(store.db))[0]?.name, 'Banco Azul')
    await store.write((tx) => moveTransfer(tx, 't1', { from: 'PENDING', to: 'CANCELLED', now: NOW }))
    assert.deepEqual(await apply(without, { prune: true }), [
      '~ local entity BANCO (name)',
      '- channel BANCO-ACME-NOMINA',
    ])
  },
)

testOnBoth('a channel is not removed while its partner has files to take', async (t, database) => {
  const { store, platform, apply } = await setUp(t, database)
  await apply(platform)
  const file = { channelCode: NOMINA, size: 1, modifiedAt: NOW, transferId: 't1', index: 0 }
  const [a, b] = ['a', 'b'].map((name) => ({ ...file, id: name, name, path: `/data/outbox/${name}` }))
  assert.ok(a && b)
  await store.write(async (tx) => {
    await addToOutbox(tx, a)
    await addToOutbox(tx, b)
    await takeFromOutbox(tx, a, NOW)
  })
  const without = changed(platform, (copy) => void copy.channels.shift())
  const refused = { code: 'conflict', message: /BANCO-ACME-NOMINA \(1\) cannot be removed while files lie/ }
  await assert.rejects(apply(without, { prune: true, dryRun: true }), refused)
  await assert.rejects(apply(without, { prune: true }), refused)
  await store.write((tx) => takeFromOutbox(tx, b, NOW))
  assert.deepEqual(await apply(without, { prune: true }), ['- channel BANCO-ACME-NOMINA'])
})

testOnBoth(
  'another contact that a channel is given to finds nothing there of the one before',
  async (t, database) => {
    const { store, platform, apply } = await setUp(t, database)
    await apply(platform)
    const passed = changed(platform, ({ contacts, channels }) => {
      const acme = contacts.find(({ id }) => id === channels[0]?.contact) ?? assert.fail()
      contacts.push({
        id: 'gamma',
        remoteCodes: acme.remoteCodes,
        protocol: 'folder',
        folder: { inbox: '/i', outbox: '/o' },
      })
      acme.remoteCodes = [{ code: 'OTHER' }]
      for (const channel of channels) if (channel.contact === acme.id) channel.contact = 'gamma'
    })
    const made = { id: 't1', channelCode: NOMINA, direction: 'EMISION', type: 'MANUAL' } as const
    const asked = { ...made, requestedBy: null, retryOf: null, now: NOW, files: [] }
    await store.write((tx) => insertTransfer(tx, asked))
    const given = (why: string) => ({
      code: 'conflict',
      message: new RegExp(`cannot be given to another contact while ${why}`),
    })
    await assert.rejects(apply(passed), given('transfers'))
    await store.write((tx) => moveTransfer(tx, 't1', { from: 'PENDING', to: 'CANCELLED', now: NOW }))
    const file = { channelCode: NOMINA, size: 1, modifiedAt: NOW, transferId: 't1', index: 0 }
    const laid = { ...file, id: 'a', name: 'a', path: '/data/outbox/a' }
    const half = { channelCode: NOMINA, name: 'half.tmp', date: '', time: '' }
    await store.write(async (tx) => {
      await addToOutbox(tx, laid)
      await putHalfFile(tx, half, { path: '/data/half', position: 3 }, NOW)
    })
    await assert.rejects(apply(passed), given('files lie'))
    await store.write((tx) => takeFromOutbox(tx, laid, NOW))
    assert.equal((await halfFilesOf(store.db, NOMINA, '')).length, 1)
    await apply(passed)
    assert.equal((await findChannel(store.db, NOMINA))?.contactId, 'gamma')
    assert.deepEqual(await halfFilesOf(store.db, NOMINA, ''), [])
  },
)

testOnBoth(
  'a channel that was deactivated is removed with what its partner has not taken',
  async (t, database) => {
    const { store, platform, apply } = await setUp(t, database)
    await apply(
      changed(platform, ({ channels }) => Object.assign(channels[0] ?? {}, { deactivateChannel: true })),
    )
    const file = { channelCode: NOMINA, size: 1, modifiedAt: NOW, transferId: 't1', index: 0 }
    await store.write((tx) => addToOutbox(tx, { ...file, id: 'a', name: 'a', path: '/data/outbox/a' }))
    const without = changed(platform, (copy) => void copy.channels.shift())
    assert.deepEqual(await apply(without, { prune: true }), ['- channel BANCO-ACME-NOMINA'])
  },
)

testOnBoth('a fault of the database in the middle leaves everything as it was', async (t, database) => {
  const { store, platform, apply } = await setUp(t, database)
  const broken = changed(platform, ({ channels }) =>
    channels.push({ code: 'NOBODY-ACME-X', contact: 'acme' }),
  )
  await assert.rejects(apply(broken), 'there is no local entity NOBODY')
  assert.equal((await listLocalEntities(store.db)).length, 0)
  assert.equal((await listAccounts(store.db)).length, 0)
  assert.equal((await apply(platform)).length, 8)
})

testOnBoth('three applies at once leave one consistent platform', async (t, database) => {
  const { store, platform, apply } = await setUp(t, database)
  // All three have compared before the first one writes.
  const compared = Promise.withResolvers<void>()
  let waiting = 0
  const together: Store = {
    ...store,
    write: async (change) => {
      if (++waiting === 3) compared.resolve()
      await compared.promise
      return store.write(change)
    },
  }
  const applied = await Promise.all(
    [1, 2, 3].map(() => applyPlatform(together, seal, platform, { now: NOW })),
  )
  assert.deepEqual(
    applied.map(({ lines }) => lines.length).toSorted((a, b) => a - b),
    [0, 0, 8],
  )
  assert.deepEqual(await apply(platform), [])
  const { total } = await pageOfHistory(store.db, NOMINA, { offset: 0, size: 10 })
  assert.equal(total, 1, 'one of the three made it, the others found it made')
})

testOnBoth(
  'a channel changed between the comparison and the transaction still ends as the file says',
  async (t, database) => {
    const { store, platform, apply } = await setUp(t, database)
    await apply(platform)
    const raced: Store = {
      ...store,
      write: async (change) => {
        const channel = await findChannel(store.db, NOMINA)
        assert.ok(channel)
        await store.write((tx) =>
          updateChannel(tx, { ...channel, config: { ...channel.config, name: 'changed meanwhile' } }),
        )
        return store.write(change)
      },
    }
    const { lines } = await applyPlatform(raced, seal, platform, { now: NOW })
    assert.deepEqual(lines, ['~ channel BANCO-ACME-NOMINA (name)'])
    assert.equal((await findChannel(store.db, NOMINA))?.config.name, 'Payroll')
  },
)

testOnBoth(
  'what waits on a changed channel is looked at again, and other nodes are told',
  async (t, database) => {
    const { store, platform, apply } = await setUp(t, database)
    await apply(platform)
    const made = {
      id: 't1',
      channelCode: NOMINA,
      direction: 'EMISION',
      type: 'MANUAL',
      requestedBy: null,
      retryOf: null,
    } as const
    await store.write(async (tx) => {
      await insertTransfer(tx, { ...made, now: NOW, files: [] })
      // Tried twice already: it is parked all the same.
      await tx.updateTable('transfer').set({ due_at: PARKED, attempts: 2 }).where('id', '=', 't1').execute()
    })
    const heard: string[] = []
    const stop = await store.listen?.('esclusa', (payload) => heard.push(payload))
    if (stop) closeAfter(t, stop)
    await apply(platform)
    assert.equal((await findTransfer(store.db, 't1'))?.dueAt, PARKED, 'nothing changed')
    await apply(
      changed(platform, ({ channels }) => void (channels[0]!.name = 'Other')),
      { now: NOW + 5 },
    )
    assert.equal((await findTransfer(store.db, 't1'))?.dueAt, NOW + 5)
    if (stop) {
      await waitFor('the notice', () => heard.length > 1)
      assert.deepEqual(heard, ['', '{"kind":"configuration"}'])
      await stop()
    }
  },
)

testOnBoth('secrets left out stay, null clears them', async (t, database) => {
  const { store, platform, apply } = await setUp(t, database)
  await apply(platform)
  const without = changed(platform, ({ users, contacts, channels }) => {
    delete users[0]!.password
    delete contacts[1]!.sftp!.password
    delete contacts[1]!.access!.password
    delete channels[0]!.security
  })
  assert.deepEqual(
    await apply(without),
    ['~ channel BANCO-ACME-NOMINA (security)'],
    'only the label of the keys is gone',
  )
  const kept = await findChannel(store.db, NOMINA)
  assert.ok(kept)
  assert.equal(openChannel(seal, kept).security?.localKey, SECRETS.localKey)

  const cleared = changed(without, ({ users, contacts, channels }) => {
    users[0]!.password = null
    contacts[1]!.sftp!.password = null
    contacts[1]!.sftp!.privateKey = 'another way in'
    channels[0]!.security = { localKey: null, rsaLocalKey: null }
  })
  assert.deepEqual(await apply(cleared), [
    '~ user ana (password)',
    '~ contact beta (secrets)',
    '~ channel BANCO-ACME-NOMINA (secrets)',
  ])
  const after = await findChannel(store.db, NOMINA)
  assert.ok(after)
  assert.deepEqual(openChannel(seal, after).security, { remoteKey: SECRETS.remoteKey })
  assert.equal((await findAccount(store.db, 'ana'))?.passwordHash, null)
})

testOnBoth(
  'a new password or a disabling ends older tokens, the same password does not',
  async (t, database) => {
    const { store, platform, apply } = await setUp(t, database)
    await apply(platform)
    const version = async () => (await findAccount(store.db, 'ana'))?.credentialVersion
    const withUser = (change: object) =>
      changed(platform, ({ users }) => void (users[0] = { ...users[0]!, ...change }))
    await apply(withUser({ lastName: 'Other' }))
    assert.equal(await version(), 1)
    assert.deepEqual(await apply(withUser({ lastName: 'Other', password: 'a quite different one' })), [
      '~ user ana (password)',
    ])
    assert.equal(await version(), 2)
    await apply(withUser({ lastName: 'Other', password: 'a quite different one', disabled: true }))
    assert.equal(await version(), 3)
  },
)

testOnBoth(
  'e-mail addresses pass from one account to another, also both ways at once',
  async (t, database) => {
    const { store, apply } = await setUp(t, database)
    const users = (emails: Record<string, string>): Platform => ({
      users: Object.entries(emails).map(([username, name]) => ({
        username,
        email: `${name}@b.example`,
        role: 'ROLE_ADMIN',
      })),
    })
    await apply(users({ ana: 'one', eva: 'two' }))
    assert.deepEqual(await apply(users({ ana: 'TWO', eva: 'one' })), [
      '~ user ana (email)',
      '~ user eva (email)',
    ])
    assert.deepEqual(await apply(users({ bea: 'two', ana: 'three' })), ['+ user bea', '~ user ana (email)'])
    assert.deepEqual(
      (await listAccounts(store.db)).map(({ email }) => email),
      ['three@b.example', 'two@b.example', 'one@b.example'],
    )
    assert.equal((await findAccountByEmail(store.db, 'two@b.example'))?.username, 'bea')
    assert.equal((await findAccountByEmail(store.db, 'one@b.example'))?.username, 'eva')
  },
)

testOnBoth('what only file and database together can tell is refused in words', async (t, database) => {
  const { platform, apply } = await setUp(t, database)
  await apply(platform)
  await assert.rejects(
    apply({ users: [{ username: 'eva', email: 'ANA@banco.example', role: 'ROLE_ADMIN' }] }),
    /user eva: ana@banco.example is the e-mail address of ana already/,
  )
  await assert.rejects(
    apply({ contacts: [{ id: 'other', remoteCodes: [{ code: 'ACME' }] }] }),
    /contact other: remote code ACME is one of acme already/,
  )
  await assert.rejects(
    apply({ contacts: [{ id: 'new', protocol: 'sftp', access: { username: 'new' } }] }),
    /contact new: access needs authorizedKeys or a password/,
  )
})

testOnBoth(
  'files applied one after the other give a platform that one file could describe',
  async (t, database) => {
    const { store, apply } = await setUp(t, database)
    const folders = { inbox: '/srv/x/in', outbox: '/srv/x/out' }
    const one = { id: 'one', protocol: 'folder' as const, folder: folders, remoteCodes: [{ code: 'ONE' }] }
    await apply({
      localEntities: [{ code: 'BANCO', name: 'Banco', oftp2: { id: 'OBANCO' } }],
      contacts: [
        one,
        { id: 'two', oftp2: { id: 'OTWO' }, access: { username: 'two', password: 'a password of two' } },
      ],
      channels: [{ code: 'BANCO-ONE-LONGAPPLICATION', contact: 'one', direction: 'EMISION' }],
    })
    const before = await exportPlatform(store.db, seal, { secrets: true })
    for (const [piece, says] of [
      [
        { localEntities: [{ code: 'CAJA', name: 'Caja', oftp2: { id: 'OBANCO' } }] },
        'local entity CAJA: OFTP2 identification OBANCO is that of local entity BANCO already',
      ],
      [
        { contacts: [{ id: 'new', oftp2: { id: 'OTWO' } }] },
        'contact new: OFTP2 identification OTWO is that of contact two already',
      ],
      [
        { contacts: [{ id: 'new', access: { username: 'two', password: 'a password of new' } }] },
        'contact new: SFTP account two is that of contact two already',
      ],
      [
        { contacts: [{ ...one, remoteCodes: [{ code: 'OTHER' }] }] },
        'channel BANCO-ONE-LONGAPPLICATION: contact one has no remote code ONE any more',
      ],
      [
        { contacts: [{ id: 'one', remoteCodes: [{ code: 'ONE' }] }] },
        'channel BANCO-ONE-LONGAPPLICATION: the application LONGAPPLICATION does not fit OFTP2 (at most 8 characters of A-Z 0-9 / - . & ( )): give the channel an alias that does',
      ],
    ] as [Platform, string][]) {
      const isSaid = { code: 'bad_use', message: `nothing was changed:\n${says}` }
      await assert.rejects(apply(piece), isSaid)
      await assert.rejects(apply(piece, { dryRun: true }), isSaid)
    }
    assert.equal(await exportPlatform(store.db, seal, { secrets: true }), before)
  },
)

testOnBoth(
  'applying an export changes nothing, with secrets and without, and onto an empty platform makes the same',
  async (t, database) => {
    const { store, platform, apply } = await setUp(t, database)
    await apply(platform)
    const channel = await findChannel(store.db, NOMINA)
    assert.ok(channel)
    // As an update by the interface may leave it: an empty object.
    await store.write((tx) =>
      updateChannel(tx, {
        ...channel,
        config: { ...channel.config, integrations: {}, emission: { active: false } },
      }),
    )
    for (const withSeal of [undefined, seal])
      assert.deepEqual(await apply(await describePlatform(store.db, withSeal), { prune: true }), [])

    const full = await describePlatform(store.db, seal)
    const { store: empty, apply: applyThere } = await setUp(t, database)
    await applyThere(full)
    assert.deepEqual(await describePlatform(empty.db, seal), full)
    assert.deepEqual(
      await exportPlatform(empty.db, seal, { secrets: true }),
      await exportPlatform(store.db, seal, { secrets: true }),
    )
  },
)

testOnBoth('an export without secrets holds none', async (t, database) => {
  const { store, platform, apply } = await setUp(t, database)
  await apply(platform)
  const text = await exportPlatform(store.db, seal, { secrets: false })
  const withThem = await exportPlatform(store.db, seal, { secrets: true })
  for (const [name, secret] of Object.entries(SECRETS)) {
    const part = secret.split('\n')[1] ?? secret
    assert.ok(!text.includes(part), `${name} is in the export`)
    // Nobody needs these two back: they are kept as hashes.
    if (name !== 'password' && name !== 'accessPassword')
      assert.ok(withThem.includes(part), `${name} is not in the export with secrets`)
  }
  assert.doesNotMatch(text, /argon2/)
  assert.match(withThem, /passwordHash: \$argon2id/)
  assert.match(withThem, /username: beta\n +password: \$argon2id/)
})

testOnBoth('five thousand channels are applied, changed and removed', async (t, database) => {
  const store = await withStore(t, database)
  const platform = manyChannels(5000, await tempFolder(t))
  const apply = async (platform: Platform, prune = false) => {
    const started = performance.now()
    const { added, changed, removed } = await applyPlatform(store, seal, platform, { now: NOW, prune })
    const seconds = (performance.now() - started) / 1000
    t.diagnostic(`${added} added, ${changed} changed, ${removed} removed in ${seconds.toFixed(1)} s`)
    return { added, changed, removed }
  }
  assert.deepEqual(await apply(platform), { added: 5002, changed: 0, removed: 0 })
  assert.deepEqual(await apply(platform), { added: 0, changed: 0, removed: 0 })
  const renamed = {
    ...platform,
    channels: platform.channels?.map((channel) => ({ ...channel, name: 'renamed' })),
  }
  assert.deepEqual(await apply(renamed as Platform), { added: 0, changed: 5000, removed: 0 })
  assert.equal((await pageOfHistory(store.db, 'BANCO-ACME-A04999', { offset: 0, size: 10 })).total, 2)
  assert.deepEqual(await apply({ ...platform, channels: [] }, true), { added: 0, changed: 0, removed: 5000 })
})

test('a large platform is written piece by piece, and others have their turn in between', async (t) => {
  const store = await withStore(t, sqlite)
  await applyPlatform(store, seal, manyChannels(400, await tempFolder(t)), { now: NOW })
  let turns = 0
  let turn = setImmediate(function next() {
    turns++
    turn = setImmediate(next)
  })
  const text = await exportPlatform(store.db, seal, { secrets: false })
  clearImmediate(turn)
  assert.ok(turns >= 20, `${turns} turns`)
  assert.deepEqual(parse(text), await describePlatform(store.db, undefined))
})

test('the lines that apply prints hold no secret', async (t) => {
  const { platform, apply } = await setUp(t, sqlite)
  const lines = [
    ...(await apply(platform)),
    ...(await apply({ ...platform, contacts: [], channels: [] }, { prune: true })),
  ]
  for (const secret of Object.values(SECRETS)) assert.ok(!lines.join('\n').includes(secret))
})
