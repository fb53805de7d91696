// A user of one channel who wants the files of another that is closed to them: their own channel's paths are pointed at
// the other's folders, to have its statements sent out and deleted, or an order planted where it sends from.

import assert from 'node:assert/strict'
import { symlink } from 'node:fs/promises'
import { test } from 'node:test'
import { PAGOS, PROPIO, sendAndWait, startBank } from './bank.ts'
import type { Bank } from './bank.ts'

const as = 'luis'

async function paths(bank: Bank): Promise<unknown> {
  const { body } = await bank.call('channelConfiguration', { code: PROPIO, as: 'root' })
  return [body[0].directories, body[0].integrations]
}

test('an operator cannot have another channel’s statements sent to his partner and deleted', async (t) => {
  const bank = await startBank(t, { propio: { integrations: { postEmisionAction: 'EMISION_DELETE' } } })
  await bank.put('pagos-in/statement.txt', 'what everybody earns')
  const before = await paths(bank)
  assert.equal((await bank.call('channelConfiguration', { code: PAGOS, as })).status, 403)
  const wanted = [
    bank.folder('pagos-in'),
    bank.folder('pagos-in/statement.txt'),
    bank.folder('pagos-in/*.txt'),
    bank.folder('*/statement.txt'),
    bank.folder('{propio-out,pagos-in}/*'),
    bank.files,
    `${bank.folder('propio-out')}/../pagos-in`,
  ]
  for (const path of wanted) {
    const answer = await bank.call('setOutboundPath', { code: PROPIO, as, body: { path } })
    assert.ok(answer.status === 403 || path.includes('..'), `${path}: ${answer.status}`)
    if (answer.status === 403) assert.match(answer.body.message, /^\/path needs a channel to be open to you/)
    await sendAndWait(bank, PROPIO, as)
  }
  assert.deepEqual(await bank.list('pagos-in'), ['statement.txt'])
  assert.deepEqual(await bank.partnerHas(), [])
  assert.deepEqual(await paths(bank), before)
})

test('nor by any other operation or field that names a path, or by what a shared folder is divided by', async (t) => {
  const shared = { direction: 'EMISION', fileGroupsName: '*.mine' } as const
  const bank = await startBank(t)
  const mixed = {
    code: 'BANCO-SOCIO-MIXTO',
    contact: 'socio',
    direction: 'BIDIRECCIONAL' as const,
    directories: [{ ...shared, filePath: bank.folder('pagos-in') }],
  }
  await bank.apply({ channels: [mixed] })
  const before = await paths(bank)
  const inside = bank.folder('pagos-out')
  const attempts: [Parameters<Bank['call']>[0], unknown, RegExp][] = [
    ['setInboundPath', { path: inside }, /^\/path /],
    ['setInboundPath', { path: `${inside}/deeper`, verifyExists: true }, /^\/path /],
    ['updateDirectories', [{ direction: 'RECEPCION', filePath: inside }], /^\/0\/filePath /],
    ['updateChannel', { directories: [{ filePath: inside }] }, /^\/directories\/0\/filePath /],
    ['updateChannel', { integrations: { postEmisionDirectory: inside } }, /postEmisionDirectory /],
    ['updateChannel', { integrations: { postReceptionDirectory: `${inside}/x` } }, /postReceptionDirectory /],
  ]
  for (const [name, body, message] of attempts) {
    const answer = await bank.call(name, { code: PROPIO, as, body })
    assert.equal(answer.status, 403, `${name} ${JSON.stringify(body)}: ${answer.text}`)
    assert.match(answer.body.message, message)
    assert.ok(!answer.text.includes('NOMINA'), 'the closed channel is named')
  }
  assert.deepEqual(await paths(bank), before)
  // Administrators let MIXTO take the *.mine of that folder; the rest of it stays out of reach.
  const change = (directories: unknown) =>
    bank.call('updateDirectories', { code: mixed.code, as, body: directories })
  const filePath = bank.folder('pagos-in')
  for (const wider of [
    { ...shared, filePath, fileGroupsName: '*' },
    { direction: 'EMISION', filePath },
  ])
    assert.equal((await change([wider])).status, 403)
  assert.equal((await change([{ ...shared, filePath }])).status, 200)
})

test('a link to another channel’s folder is that folder', async (t) => {
  const bank = await startBank(t)
  await symlink(bank.folder('pagos-in'), bank.folder('looks-harmless'))
  const path = bank.folder('looks-harmless')
  const answer = await bank.call('setOutboundPath', { code: PROPIO, as, body: { path } })
  assert.equal(answer.status, 403, answer.text)
})

test('folders beside it, and those of channels that are open, may be named; administrators may name all', async (t) => {
  const bank = await startBank(t)
  for (const [who, path] of [
    [as, bank.folder('propio-out')],
    [as, bank.folder('pagos-in-2')],
    ['jefa', bank.folder('pagos-in')],
    ['root', bank.folder('pagos-in')],
  ] as const) {
    const answer = await bank.call('setOutboundPath', { code: PROPIO, as: who, body: { path } })
    assert.equal(answer.status, 200, `${who} ${path}: ${answer.text}`)
  }
})

test('a local entity’s own file roots hold for whoever asks, and for a platform file', async (t) => {
  const bank = await startBank(t)
  const fileRoots = [bank.folder('pagos-in'), bank.folder('pagos-out'), bank.folder('only-here')]
  const entity = { code: 'BANCO', name: 'Banco', fileRoots }
  await assert.rejects(
    bank.apply({ localEntities: [entity] }),
    /channel BANCO-SOCIO-PROPIO: \/directories\/0\/filePath must lie inside the file roots of local entity BANCO/,
  )
  const directories = [{ direction: 'EMISION' as const, filePath: bank.folder('only-here') }]
  await bank.apply({
    localEntities: [entity],
    channels: [{ code: PROPIO, contact: 'socio', directories }],
  })
  const path = bank.folder('propio-out')
  for (const who of [as, 'root']) {
    const answer = await bank.call('setOutboundPath', { code: PROPIO, as: who, body: { path } })
    assert.equal(answer.status, 400, answer.text)
    assert.match(answer.body.message, /^\/path must lie inside the file roots of local entity BANCO \(/)
  }
})

test('nor by another spelling of a folder that is not there yet', async (t) => {
  const bank = await startBank(t)
  const secret = bank.folder('not-yet/secret')
  await bank.apply({
    channels: [
      {
        code: 'BANCO-PAGOS-SECRETO',
        contact: 'pagos',
        users: ['jefa'],
        directories: [{ direction: 'EMISION', filePath: secret }],
      },
    ],
  })
  const before = await paths(bank)
  const spelled = ['//secret', '/./secret', '//secret//deep', '/secret/./deep/', '/secret/.', '/.//./secret/']
  for (const path of ['/secret/deep', ...spelled].map((rest) => bank.folder('not-yet') + rest)) {
    const answer = await bank.call('setOutboundPath', { code: PROPIO, as, body: { path } })
    assert.equal(answer.status, 403, `${path}: ${answer.text}`)
  }
  assert.deepEqual(await paths(bank), before)
})

test('nor by the folders of the partner that a closed channel brings files to', async (t) => {
  const bank = await startBank(t)
  const folder = { inbox: bank.folder('vecino/in'), outbox: bank.folder('vecino/out') }
  await bank.apply({
    contacts: [{ id: 'vecino', remoteCodes: [{ code: 'VECINO' }], protocol: 'folder', folder }],
    channels: [{ code: 'BANCO-VECINO-SECRETO', contact: 'vecino', users: ['jefa'] }],
  })
  const set = async (user: string, path: string) =>
    (await bank.call('setOutboundPath', { code: PROPIO, as: user, body: { path } })).status
  for (const path of [folder.inbox, `${folder.outbox}/deep`, bank.folder('vecino'), `${folder.inbox}/*.txt`])
    assert.equal(await set(as, path), 403, path)
  assert.equal(await set(as, bank.folder('partner-inbox')), 200, 'no closed channel leads there')
  assert.equal(await set('jefa', folder.inbox), 200, 'whoever reaches the channel may')
  assert.equal(await set('root', folder.outbox), 200)
})
