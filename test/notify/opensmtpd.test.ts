// Mail through OpenSMTPD, a server that nobody here wrote, on loopback, into a maildir.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants } from 'node:fs'
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { addEvent } from '../../src/store/events/outbox.ts'
import { closeAfter, sqlite, tempFolder, waitFor, withStore } from '../support/harness.ts'
import { found, startNotifier, subscribe } from './scene.ts'
import { freePort } from '../support/free-port.ts'

const SMTPD = '/usr/sbin/smtpd'
const skip = whySkipped()

function whySkipped(): string | false {
  try {
    accessSync(SMTPD, constants.X_OK)
  } catch {
    return 'SKIPPED: OpenSMTPD is not installed (Debian package opensmtpd)'
  }
  return process.getuid?.() === 0 ? false : 'SKIPPED: OpenSMTPD starts as root alone'
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'data')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

test('a mail goes through OpenSMTPD as it was meant', { skip }, async (t) => {
  const folder = await tempFolder(t)
  const mails = join(folder, 'mails')
  await mkdir(mails)
  for (const path of [folder, mails]) await chmod(path, 0o777) // it delivers as another user
  const port = await freePort()
  const conf = join(folder, 'smtpd.conf')
  await writeFile(
    conf,
    `table people { "@" = nobody }
listen on 127.0.0.1 port ${port}
action "keep" maildir "${mails}/box" virtual <people>
match from any for any action "keep"
`,
    { mode: 0o600 },
  )
  const server = spawn(SMTPD, ['-d', '-f', conf], { stdio: 'ignore' })
  closeAfter(t, async () => {
    if (server.exitCode !== null) return
    const gone = once(server, 'exit')
    server.kill('SIGTERM')
    await gone
  })
  await waitFor('OpenSMTPD', () => answers(port))
  const store = await withStore(t, sqlite)
  await subscribe(store, 'night', { mail: { to: ['night@banco.example'], language: 'es' } })
  await startNotifier(t, store, {
    settings: { ESCLUSA_SMTP_URL: `smtp://127.0.0.1:${port}`, ESCLUSA_MAIL_FROM: 'esclusa@banco.example' },
  })
  const data = { transferId: 't', direction: 'EMISION', type: 'MANUAL', error: 'sin respuesta' } as const
  await store.write((tx) =>
    addEvent(tx, { type: 'transfer.failed', at: Date.now(), channelCode: 'BANCO-ACME-NOMINA', data }),
  )
  const name = await found(
    'the mail in its box',
    async () => (await readdir(join(mails, 'box', 'new')).catch(() => []))[0],
  )
  const mail = await readFile(join(mails, 'box', 'new', name), 'utf8')
  assert.match(mail, /^From: esclusa@banco\.example$/m)
  assert.match(mail, /^Subject: \[Esclusa\] Transferencia fallida: BANCO-ACME-NOMINA$/m)
  assert.match(mail, /^Content-Type: text\/plain; charset=utf-8$/m)
  assert.match(mail, /^Content-Type: text\/html; charset=utf-8$/m)
  assert.match(mail, /Motivo: sin respuesta/)
  const sent = await found('the note of its sending', async () => {
    const [row] = await store.db.selectFrom('delivery').selectAll().execute()
    return row?.state === 'DELIVERED' ? row : undefined
  })
  assert.match(sent.tries, /"status":250/)
})
