// The command of the Debian package and its service read one file of settings: both must find the same in it.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempFolder } from '../support/harness.ts'

const COMMAND = join(import.meta.dirname, '../../deploy/debian/esclusa')
/** The command, called by root, would change to a user that is not here. */
const ANYBODY = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

/** The line of the file, and what systemd makes of it (systemd.exec(5), EnvironmentFile=). */
const LINES: [line: string, value: string | undefined][] = [
  ['ESCLUSA_A=postgres://u:pa$$w0rd@db/e?sslmode=verify-full&sslrootcert=/etc/ca.pem', undefined],
  ['ESCLUSA_B=a;b|c(d)`e`#f', undefined],
  ['ESCLUSA_C="$HOME in \\"quotes\\" \\$ \\\\"', '$HOME in "quotes" $ \\'],
  ["ESCLUSA_D='as $it \\is'", 'as $it \\is'],
  ['ESCLUSA_E=two words', undefined],
  ['  ESCLUSA_F=blanks around \t', 'blanks around'],
  ['ESCLUSA_G=a\\b', 'ab'],
  ['ESCLUSA_H=', ''],
]

test('the command finds in the settings what the service finds, whatever a shell would make of it', async (t) => {
  const root = await tempFolder(t)
  chmodSync(root, 0o755)
  for (const folder of ['etc', 'lib', 'lib/bin']) mkdirSync(join(root, folder))
  writeFileSync(
    join(root, 'etc/esclusa.env'),
    `# ESCLUSA_Y=no\n; ESCLUSA_Z=no\nnothing\n${LINES.map(([line]) => line).join('\n')}`,
  )
  symlinkSync(process.execPath, join(root, 'lib/node'))
  writeFileSync(join(root, 'lib/bin/esclusa.js'), 'console.log(JSON.stringify(process.env))')
  const script = readFileSync(COMMAND, 'utf8')
    .replaceAll('/etc/esclusa/', `${root}/etc/`)
    .replaceAll('/usr/lib/esclusa/', `${root}/lib/`)
  const said = execFileSync('sh', ['-c', script], { env: { PATH: process.env.PATH }, cwd: '/', ...ANYBODY })
  const found = Object.entries(JSON.parse(String(said)) as Record<string, string>)
  const wanted = LINES.map(([line, value]) => [line.trim().slice(0, 9), value ?? line.trim().slice(10)])
  assert.deepEqual(
    Object.fromEntries(found.filter(([name]) => name.startsWith('ESCLUSA_'))),
    Object.fromEntries([...wanted, ['ESCLUSA_DATA_DIR', '/var/lib/esclusa']]),
  )
})
