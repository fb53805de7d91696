import assert from 'node:assert/strict'
import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempFolder } from '../../test/support/harness.ts'
import { platformFindings, NOTHING_KNOWN } from '../platform/rules.ts'
import { partnerFolderFault } from './partner-folders.ts'

test('a partner’s folder stays away from the data folder and the script roots, and may be anywhere else', async (t) => {
  const home = await tempFolder(t)
  const at = (path: string) => join(home, path)
  for (const name of ['data/files', 'scripts', 'elsewhere']) await mkdir(at(name), { recursive: true })
  await symlink(at('data'), at('elsewhere/to-data'))
  await symlink(at('elsewhere'), at('data/files/out-again'))
  const places = { dataDir: at('data'), scriptRoots: [at('scripts')], fileRoots: [at('data/files')] }
  const refused = [
    'data',
    'data/outgoing',
    'data/files/../quarantine',
    'elsewhere/to-data',
    'elsewhere/to-data/x',
  ]
  for (const path of [...refused.map(at), home, '/', `${at('data')}/./x`, `${at('data')}//x/y`])
    assert.match(partnerFolderFault(path, places) ?? '', /data folder/, path)
  for (const path of ['scripts', 'scripts/deep/er'].map(at))
    assert.match(partnerFolderFault(path, places) ?? '', /ESCLUSA_SCRIPT_ROOTS/, path)
  const taken = [
    'data/files',
    'data/files/acme/in',
    'elsewhere/to-data/files/in',
    'elsewhere',
    'database',
    'data-2',
  ]
  for (const path of taken.map(at)) assert.equal(partnerFolderFault(path, places), undefined, path)
  const contact = { id: 'acme', protocol: 'folder' as const, remoteCodes: [{ code: 'ACME' }] }
  const folder = { inbox: at('elsewhere/in'), outbox: at('data') }
  const { faults } = platformFindings({ contacts: [{ ...contact, folder }] }, places, NOTHING_KNOWN)
  assert.deepEqual(
    faults.map(({ pointer }) => pointer),
    ['/contacts/0/folder/outbox'],
  )
})
