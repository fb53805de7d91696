import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { SMTPServer } from 'smtp-server'
import { zoneOf } from '../../src/domain/time.ts'
import { takeEvents } from '../../src/notify/take-events.ts'
import type { Store } from '../../src/store/database/store.ts'
import { addEvent } from '../../src/store/events/outbox.ts'
import { findSubscription, switchOff } from '../../src/store/events/subscriptions.ts'
import { closeAfter, sqlite, testOnBoth, waitFor, withStore } from '../support/harness.ts'
import { SECRET, startReceiver } from './receiver.ts'
import { found, happen, startNotifier, subscribe } from './scene.ts'

type Mail = { from: string; to: string[]; raw: string; secure: boolean; user: string | undefined }

type Post = { port: number; mails: Mail[]; refuse: string | undefined; unknown: string | undefined }

/** A real SMTP server; `login` demands one, over TLS. */
async function startPost(t: TestContext, login?: { user: string; password: string }): Promise<Post> {
  const post: Post = { port: 0, mails: [], refuse: undefined, unknown: undefined }
  const server = new SMTPServer({
    authOptional: login === undefined,
    disabledCommands: login ? [] : ['STARTTLS'],
    onAuth: ({ username, password }, _session, done) =>
      username === login?.user && password === login?.password
        ? done(null, { user: username })
        : done(new Error('no such user')),
    onRcptTo: ({ address }, _session, done) =>
      done(address === post.unknown ? Object.assign(new Error('no such user'), { responseCode: 550 }) : null),
    onData: (stream, session, done) => {
      let raw = ''
      stream.setEncoding('utf8').on('data', (part: string) => (raw += part))
      stream.on('end', () => {
        if (post.refuse !== undefined)
          return done(Object.assign(new Error(post.refuse), { responseCode: 451 }))
        const from = session.envelope.mailFrom
        post.mails.push({
          from: from ? from.address : '',
          to: session.envelope.rcptTo.map(({ address }) => address),
          raw,
          secure: session.secure,
          user: session.user as string | undefined,
        })
        done()
      })
    },
  })
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  post.port = (server.server.address() as AddressInfo).port
  closeAfter(t, () => new Promise((resolve) => server.close(() => resolve())))
  return post
}

const settingsFor = ({ port }: Pick<Post, 'port'>, login = '') => ({
  ESCLUSA_SMTP_URL: `smtp://${login}127.0.0.1:${port}`,
  ESCLUSA_MAIL_FROM: 'Esclusa <esclusa@banco.example>',
  ESCLUSA_PUBLIC_URL: 'https://esclusa.banco.example/',
})

function header({ raw }: Mail, name: string): string {
  const lines = raw.slice(0, raw.indexOf('\r\n\r\n')).replaceAll(/\r\n[ \t]+/g, ' ')
  const value = new RegExp(`^${name}: (.*)$`, 'im').exec(lines)?.[1] ?? ''
  // Adjacent encoded words are one.
  const joined = value.replaceAll(/\?= +=\?/g, '?==?')
  return joined.replaceAll(/=\?UTF-8\?Q\?(.*?)\?=/gi, (_, text: string) =>
    decodeQuoted(text.replaceAll('_', ' ')),
  )
}

function decodeQuoted(text: string): string {
  const bytes = text
    .replaceAll(/=\r\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString('utf8')
}

/** Plain and HTML, decoded. */
function bodies({ raw }: Mail): string[] {
  const boundary = /boundary="([^"]+)"/.exec(raw)?.[1] ?? ''
  const parts = raw.split(`--${boundary}`).slice(1, -1)
  return parts.map((part) => {
    const [head = '', ...body] = part.split('\r\n\r\n')
    const text = body.join('\r\n\r\n')
    if (/base64/i.test(head)) return Buffer.from(text, 'base64').toString('utf8')
    return /quoted-printable/i.test(head) ? decodeQuoted(text) : text
  })
}

async function fail(
  store: Store,
  count: number,
  channelCode = 'BANCO-ACME-NÓMINA'.normalize(),
): Promise<void> {
  await store.write(async (tx) => {
    for (let nth = 0; nth < count; nth++)
      await addEvent(tx, {
        type: 'transfer.failed',
        at: Date.now(),
        channelCode,
        data: {
          transferId: `t${nth}`,
          direction: 'EMISION',
          type: 'MANUAL',
          error: '<b>no</b> answer',
          errorCode: 'x',
        },
      })
  })
}

function pending(store: Store) {
  return store.db
    .selectFrom('delivery')
    .selectAll()
    .where('state', '=', 'PENDING')
    .orderBy('position')
    .execute()
}

test('a failure becomes a mail in the reader’s language, plain and HTML, with a link', async (t) => {
  const store = await withStore(t, sqlite)
  const post = await startPost(t)
  await subscribe(store, 'night', {
    mail: { to: ['night@banco.example', 'ops@banco.example'], language: 'es' },
  })
  await startNotifier(t, store, { settings: settingsFor(post) })
  await fail(store, 1)
  const mail = await found('the mail', () => post.mails[0])
  assert.deepEqual(
    [mail.from, mail.to],
    ['esclusa@banco.example', ['night@banco.example', 'ops@banco.example']],
  )
  assert.equal(header(mail, 'Subject'), '[Esclusa] Transferencia fallida: BANCO-ACME-NÓMINA')
  const [plain = '', html = ''] = bodies(mail)
  assert.match(plain, /Motivo: <b>no<\/b> answer/)
  const link = 'https://esclusa.banco.example/console/channels/BANCO-ACME-N%C3%93MINA/transfers/t0'
  assert.ok(plain.includes(`Abrir en la consola: ${link}`))
  assert.ok(html.includes(`<a href="${link}">Abrir en la consola</a>`))
  assert.ok(html.includes('&lt;b&gt;no&lt;/b&gt; answer') && !html.includes('<b>no</b>'))
  assert.match(html, /<html lang="es">/)
})

testOnBoth('a storm becomes one mail in five minutes, with a summary', async (t, database) => {
  const store = await withStore(t, database)
  const post = await startPost(t)
  await subscribe(store, 'night', { mail: { to: ['night@banco.example'], language: 'en' } })
  const notifier = await startNotifier(t, store, { settings: settingsFor(post) })
  const began = Date.now()
  await fail(store, 1)
  await waitFor('the first mail', () => post.mails.length === 1)
  await fail(store, 120)
  await happen(store, ['A-B-C', 'A-B-C'])
  notifier.nudge()
  await waitFor('all of them to wait', async () => (await pending(store)).length === 122)
  const after = (await findSubscription(store.db, 'night'))?.mailAfter ?? 0
  assert.ok(after >= began + 300_000 && after <= Date.now() + 300_000)
  assert.equal(post.mails.length, 1)
  await store.write((tx) => tx.updateTable('subscription').set({ mail_after: 0 }).execute())
  notifier.nudge()
  const mail = await found('the summary', () => post.mails[1])
  assert.equal(header(mail, 'Subject'), '[Esclusa] 122 events: 120 transfers failed, 2 changes of channels')
  const [plain = ''] = bodies(mail)
  assert.match(plain, /… and 72 more/)
  await waitFor('the note', async () => (await pending(store)).length === 0)
  assert.equal(post.mails.length, 2)
})

test('a mail that the server does not take is tried again, with whatever happened since', async (t) => {
  const store = await withStore(t, sqlite)
  const post = await startPost(t)
  post.refuse = 'try again later'
  await subscribe(store, 'night', { mail: { to: ['night@banco.example'], language: 'en' } })
  const notifier = await startNotifier(t, store, { settings: settingsFor(post) })
  await fail(store, 1)
  const failed = await found('the failure', async () =>
    (await pending(store)).find(({ attempts }) => attempts > 0),
  )
  assert.match(failed.tries, /"status":451/)
  assert.ok(failed.due_at - Date.now() < 6500)
  await fail(store, 1, 'OTHER-A-B')
  notifier.nudge()
  await waitFor('the second', async () => {
    const all = await pending(store)
    return all.length === 2 && all.every(({ attempts }) => attempts > 0)
  })
  // Nothing is under way while the pauses of both come to their end together.
  await notifier.stop()
  post.refuse = undefined
  await store.write((tx) => tx.updateTable('delivery').set({ due_at: 0 }).execute())
  await startNotifier(t, store, { settings: settingsFor(post), owner: 'two' })
  const mail = await found('the mail', () => post.mails[0])
  assert.equal(header(mail, 'Subject'), '[Esclusa] 2 events: 2 transfers failed')
  await waitFor('the note', async () => (await pending(store)).length === 0)
})

testOnBoth('what another node has mailed since it was read is not mailed again', async (t, database) => {
  const store = await withStore(t, database)
  const post = await startPost(t)
  await subscribe(store, 'night', { mail: { to: ['night@banco.example'], language: 'en' } })
  await fail(store, 2)
  await takeEvents(store, zoneOf('UTC'), Date.now())
  const settings = settingsFor(post)
  const isHeldBy = async (owner: string) =>
    (await store.db.selectFrom('subscription').select('lease_owner').executeTakeFirst())?.lease_owner ===
    owner
  // One does nothing between its reading and its next transaction, for longer than its lease; the other goes on.
  let meanwhile: Promise<void> | undefined
  const otherMails = async () => {
    await store.write((tx) => tx.updateTable('subscription').set({ lease_until: 0 }).execute())
    const other = await startNotifier(t, store, { settings, owner: 'other' })
    await waitFor('the mail to be noted', async () => (await pending(store)).length === 0)
    await other.stop()
  }
  await startNotifier(
    t,
    {
      ...store,
      write: async (change) => {
        if (await isHeldBy('one')) await (meanwhile ??= otherMails())
        return store.write(change)
      },
    },
    { settings, owner: 'one' },
  )
  await waitFor('the first mail', async () => post.mails.length > 0 && !(await isHeldBy('other')))
  await fail(store, 1, 'OTHER-A-B')
  await store.write((tx) => tx.updateTable('subscription').set({ mail_after: 0 }).execute())
  await waitFor('the next mail', () =>
    post.mails.some((mail) => header(mail, 'Subject').includes('OTHER-A-B')),
  )
  assert.equal(post.mails.length, 2)
})

test('an address that the server refuses is told of with the delivery; the others get their mail once', async (t) => {
  const store = await withStore(t, sqlite)
  const post = await startPost(t)
  post.unknown = 'gone@banco.example'
  await subscribe(store, 'ops', { mail: { to: ['ops@banco.example', post.unknown], language: 'en' } })
  await startNotifier(t, store, { settings: settingsFor(post) })
  await happen(store, ['A-B-C'])
  const [made] = await found('the note', async () => {
    const ended = await store.db.selectFrom('delivery').selectAll().where('state', '=', 'DELIVERED').execute()
    return ended.length > 0 ? ended : undefined
  })
  assert.match(made?.tries ?? '', /the mail server refused gone@banco.example \(550 no such user\)/)
  assert.deepEqual(
    post.mails.map(({ to }) => to),
    [['ops@banco.example']],
  )
})

test('what waits for the next mail goes to the webhook that the subscription is changed to', async (t) => {
  const store = await withStore(t, sqlite)
  const post = await startPost(t)
  const receiver = await startReceiver(t)
  await subscribe(store, 'ops', { mail: { to: ['ops@banco.example'], language: 'en' } })
  await startNotifier(t, store, { settings: { ...settingsFor(post), ESCLUSA_LEASE_SECONDS: '2' } })
  await happen(store, ['A-B-C'])
  await waitFor('a mail', () => post.mails.length === 1)
  await happen(store, ['A-B-D'])
  const waits = async () =>
    (await store.db.selectFrom('delivery').select('state').execute()).some(({ state }) => state === 'PENDING')
  await waitFor('what waits for the next mail', waits)
  await subscribe(store, 'ops', { webhook: { url: receiver.url } }, [SECRET])
  await waitFor('the webhook', () => receiver.heard.some(({ event }) => event.channel === 'A-B-D'))
})

test('a login is not given away to a server without TLS', async (t) => {
  const store = await withStore(t, sqlite)
  const post = await startPost(t)
  await subscribe(store, 'night', { mail: { to: ['night@banco.example'], language: 'en' } })
  await startNotifier(t, store, { settings: settingsFor(post, 'esclusa:secret@') })
  await fail(store, 1)
  const failed = await found('the failure', async () =>
    (await pending(store)).find(({ attempts }) => attempts > 0),
  )
  assert.match(failed.tries, /TLS/)
  assert.equal(post.mails.length, 0)
})

test('a mail whose sending was cut off is sent again as the same mail', async (t) => {
  const store = await withStore(t, sqlite)
  const post = await startPost(t)
  await subscribe(store, 'night', { mail: { to: ['night@banco.example'], language: 'en' } })
  const first = await startNotifier(t, store, { settings: settingsFor(post) })
  await fail(store, 2)
  await waitFor('the mail', async () => post.mails.length === 1 && (await pending(store)).length === 0)
  await first.stop()
  const id = header(post.mails[0] as Mail, 'Message-ID')
  // As it lies in the database when a node dies between sending and noting it.
  const batch = id.slice(1, id.indexOf('@'))
  await store.write((tx) => tx.updateTable('delivery').set({ state: 'PENDING', batch }).execute())
  await fail(store, 1)
  await startNotifier(t, store, { settings: settingsFor(post), owner: 'two' })
  const again = await found('the mail again', () => post.mails[1])
  assert.equal(header(again, 'Message-ID'), id)
  assert.equal(header(again, 'Subject'), '[Esclusa] 2 events: 2 transfers failed')
})

/** A mail server that takes everything, and never comes to the end of its answer. */
async function startEndlessPost(t: TestContext): Promise<{ port: number; mails: number; open: number }> {
  const post = { port: 0, mails: 0, open: 0 }
  const server = createServer((socket) => {
    let [text, isData] = ['', false]
    let saying: NodeJS.Timeout | undefined
    post.open += 1
    socket
      .on('error', () => {})
      .on('close', () => {
        post.open -= 1
        clearInterval(saying)
      })
    socket.write('220 here\r\n')
    socket.setEncoding('utf8').on('data', (part: string) => {
      text += part
      if (isData) {
        if (!text.endsWith('\r\n.\r\n') || saying) return
        post.mails += 1
        saying = setInterval(() => socket.write('250-wait\r\n'), 50)
        return
      }
      for (let end = text.indexOf('\r\n'); end >= 0; end = text.indexOf('\r\n')) {
        isData ||= text.startsWith('DATA')
        socket.write(isData ? '354 go on\r\n' : '250 good\r\n')
        text = text.slice(end + 2)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  post.port = (server.address() as AddressInfo).port
  closeAfter(t, () => new Promise<void>((resolve) => server.close(() => resolve())))
  return post
}

test('a mail that the server never comes to the end of has failed', { timeout: 60_000 }, async (t) => {
  const store = await withStore(t, sqlite)
  const post = await startEndlessPost(t)
  for (const id of ['night', 'day', 'noon'])
    await subscribe(store, id, { mail: { to: [`${id}@banco.example`], language: 'en' } })
  await startNotifier(t, store, { settings: settingsFor(post), mailMs: 1000 })
  await fail(store, 1)
  // The third goes when one of the others has failed.
  await waitFor('the failures', async () => {
    const all = await pending(store)
    return all.length === 3 && all.every(({ attempts }) => attempts === 1)
  })
  for (const { tries } of await pending(store))
    assert.match(tries, /the mail server has not taken the mail within 1 s/)
  await waitFor('the connections to be closed', () => post.open === 0)
})

test(
  'a mail that does not end holds up neither other subscriptions nor the end of a node',
  { timeout: 60_000 },
  async (t) => {
    const store = await withStore(t, sqlite)
    const [post, receiver] = [await startEndlessPost(t), await startReceiver(t)]
    await subscribe(store, 'night', { mail: { to: ['night@banco.example'], language: 'en' } })
    const settings = { ...settingsFor(post), ESCLUSA_LEASE_SECONDS: '1' }
    const notifier = await startNotifier(t, store, { settings })
    await fail(store, 1)
    await waitFor('the mail to be on its way', () => post.mails === 1)
    await store.write((tx) => switchOff(tx, 'night', Date.now(), 'enough'))
    await subscribe(store, 'hook', { webhook: { url: receiver.url } }, [SECRET])
    await fail(store, 1)
    await waitFor('the webhook', () => receiver.heard.length === 1)
    // A second look after its hold has lapsed.
    await fail(store, 1)
    await waitFor('the webhook again', () => receiver.heard.length === 2)
    await notifier.stop()
    assert.deepEqual(
      (await pending(store)).map(({ attempts }) => attempts),
      [0],
    )
  },
)

test('a server that asks for it gets TLS and a login', async (t) => {
  const store = await withStore(t, sqlite)
  const post = await startPost(t, { user: 'esclusa', password: 'p@ss word' })
  await subscribe(store, 'night', { mail: { to: ['night@banco.example'], language: 'en' } })
  const login = `esclusa:${encodeURIComponent('p@ss word')}@`
  const settings = { ...settingsFor(post, login) }
  // The server's certificate is its own; a real one is checked.
  settings.ESCLUSA_SMTP_URL += '/?tls.rejectUnauthorized=false'
  await startNotifier(t, store, { settings })
  await fail(store, 1)
  const mail = await found('the mail', () => post.mails[0])
  assert.deepEqual([mail.secure, mail.user], [true, 'esclusa'])
})

test('a certificate that nobody vouches for is refused', async (t) => {
  const store = await withStore(t, sqlite)
  const post = await startPost(t, { user: 'esclusa', password: 'x' })
  await subscribe(store, 'night', { mail: { to: ['night@banco.example'], language: 'en' } })
  await startNotifier(t, store, { settings: settingsFor(post, 'esclusa:x@') })
  await fail(store, 1)
  const failed = await found('the failure', async () =>
    (await pending(store)).find(({ attempts }) => attempts > 0),
  )
  assert.match(failed.tries, /certificate/)
  assert.equal(post.mails.length, 0)
})

test('without a mail server a mail fails and says what is missing', async (t) => {
  const store = await withStore(t, sqlite)
  await subscribe(store, 'night', { mail: { to: ['night@banco.example'], language: 'en' } })
  await startNotifier(t, store)
  await fail(store, 1)
  const failed = await found('the failure', async () =>
    (await pending(store)).find(({ attempts }) => attempts > 0),
  )
  assert.match(failed.tries, /no mail server is set: ESCLUSA_SMTP_URL/)
})
