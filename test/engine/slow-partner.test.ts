// A partner that is slow, or hangs, and the others.

import assert from 'node:assert/strict'
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createFolder } from '../../src/engine/transports/folder/folder.ts'
import { closeAfter, testOnBoth, waitFor } from '../support/harness.ts'
import { Gate, Line } from './line.ts'
import { CODE, channelOf, startRig } from './rig.ts'
import type { Rig } from './rig.ts'

/** Another partner: a folder. */
async function putNear(rig: Rig): Promise<void> {
  const near = { inbox: join(rig.place.root, 'near'), outbox: join(rig.place.root, 'near-outbox') }
  for (const folder of [near.inbox, near.outbox]) await mkdir(folder)
  await rig.putContact({ id: 'near', protocol: 'folder', settings: { folder: near } })
}

for (const oneFileAtATime of [true, false])
  testOnBoth(
    `a partner that hangs with many channels holds up no other, files ${oneFileAtATime ? 'one after the other' : 'side by side'}`,
    async (t, database) => {
      const gate = new Gate()
      const line = new Line({
        capabilities: { oneFileAtATime },
        onPush: async (push, _file, _progress, signal) => {
          await gate.pass(signal)
          return push()
        },
      })
      const rig = await startRig(t, {
        database,
        workers: 1,
        transports: [line, createFolder({ scriptRoots: [] })],
      })
      line.leadTo(rig)
      await rig.putContact({ id: 'acme', protocol: 'sftp' })
      await putNear(rig)
      const emits = (name: string) => ({
        directories: [{ direction: 'EMISION' as const, filePath: join(rig.place.files, name) }],
        connection: { ips: ['127.0.0.1'] },
      })
      // More than are claimed at once, and more files than there are places to work in.
      const slow = Array.from({ length: 40 }, (_, nth) => `BANCO-ACME-F${nth}`)
      for (const code of slow) {
        await rig.putChannel(code, emits(code))
        for (let at = 0; at < 8; at++) await rig.put(`${code}-${at}`, 'a', join(rig.place.files, code))
      }
      await rig.putChannel('BANCO-NEAR-F0', emits('near'), { contactId: 'near' })
      await rig.put('near.txt', 'b', join(rig.place.files, 'near'))
      const sent: string[] = []
      for (const code of slow) sent.push((await rig.send(code)).id)
      rig.run()
      const states = async (state: string) => {
        const all = await Promise.all(sent.map((id) => rig.transfer(id)))
        return all.filter((one) => one.state === state).length
      }
      await waitFor(
        'as many hang as may',
        async () => gate.waiting > 0 && (await states('IN_PROGRESS')) === 16,
      )
      const { id } = await rig.send('BANCO-NEAR-F0')
      const { state, error } = await rig.ended(id)
      assert.equal(state, 'COMPLETED', error ?? '')
      assert.equal(await states('COMPLETED'), 0)
      gate.open()
      await waitFor('the others are sent', async () => (await states('COMPLETED')) === slow.length)
      assert.equal((await rig.inbox()).length, 40 * 8)
    },
  )

testOnBoth('receptions that last hold up nothing that is to be sent', async (t, database) => {
  const rig = await startRig(t, { database, workers: 1 })
  await rig.putContact({ id: 'acme' })
  await rig.putChannel(CODE, channelOf(rig))
  for (let nth = 0; nth < 100; nth++) rig.dispatcher.hold({ id: `reception ${nth}`, fence: 1 })
  await rig.put('a.txt', 'a')
  const { id } = await rig.run().send()
  assert.equal((await rig.ended(id)).state, 'COMPLETED')
})

testOnBoth('a partner whose server hangs holds up the automation of no other', async (t, database) => {
  const gate = new Gate()
  const line = new Line({ onConnect: () => gate.pass() })
  const rig = await startRig(t, { database, transports: [line, createFolder({ scriptRoots: [] })] })
  line.leadTo(rig)
  await rig.putContact({ id: 'acme', protocol: 'sftp' })
  await putNear(rig)
  const connection = { ips: ['127.0.0.1'] }
  // More than have a turn at once, and first in every list.
  for (let nth = 0; nth < 70; nth++)
    await rig.putChannel(
      `BANCO-ACME-F${nth}`,
      { connection, directories: [{ direction: 'RECEPCION', filePath: join(rig.place.files, `in-${nth}`) }] },
      { automation: { watch: true } },
    )
  await rig.putChannel(
    'BANCO-NEAR-F0',
    { connection, directories: [{ direction: 'EMISION', filePath: join(rig.place.files, 'near') }] },
    { contactId: 'near', automation: { watch: true } },
  )
  rig.run().automate(t)
  closeAfter(t, () => Promise.resolve(gate.open()))
  await waitFor('the partner hangs', () => gate.waiting > 0)
  await rig.put('near.txt', 'a', join(rig.place.files, 'near'))
  await waitFor('the other one has its file', async () =>
    (await readdir(join(rig.place.root, 'near'))).includes('near.txt'),
  )
})
