import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Platform } from '../contract/administration/platform-file.ts'
import { NOTHING_KNOWN, platformFindings } from './rules.ts'

const contact = (id: string, more: object) => ({ id, remoteCodes: [{ code: id.toUpperCase() }], ...more })
const access = { protocol: 'sftp' as const, access: { username: 'acme', password: 'a long password' } }
const roots = { fileRoots: ['/files'], scriptRoots: [] }

/** The channels that are warned of for their application. */
function alike(contacts: Platform['contacts'], channels: Platform['channels']): string[] {
  const localEntities = ['BANCO', 'CAJA'].map((code) => ({ code, name: code }))
  const { warnings } = platformFindings({ localEntities, contacts, channels }, roots, NOTHING_KNOWN)
  const told = warnings.filter(({ message }) => message.includes('the same application'))
  return told.map(({ pointer }) => pointer)
}

test('channels that a partner cannot tell apart are warned of: over SFTP those of two entities, too', () => {
  const of = (code: string, more: object = {}) => ({ code, contact: 'acme', ...more })
  const pair = [of('BANCO-ACME-PAGOS'), of('CAJA-ACME-PAGOS')]
  const again = of('BANCO-ACME-OTHER', { alias: 'PAGOS' })
  assert.deepEqual(alike([contact('acme', { protocol: 'oftp2' })], pair), [])
  assert.deepEqual(alike([contact('acme', { protocol: 'oftp2' })], [...pair, again]), ['/channels/2/code'])
  assert.deepEqual(alike([contact('acme', access)], pair), ['/channels/1/code'])
  const sends = of('CAJA-ACME-PAGOS', { direction: 'EMISION' })
  assert.deepEqual(alike([contact('acme', access)], [of('BANCO-ACME-PAGOS'), sends]), [])
})
