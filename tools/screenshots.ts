// Pictures of the console that the docs show, and the film of the story (docs/story.md), into docs/screenshots or another folder:
//
//   node tools/screenshots.ts [folder]
//
// They are taken from the nodes that the console's own tests start, so nothing else has to run, and the film is what the
// story's test has seen.

import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = resolve(process.argv[2] ?? `${root}/docs/screenshots`)
const files = ['test/console/pictures.ts', 'test/console/story.test.ts']
const flags = ['--test', '--test-force-exit', '--test-concurrency=1', '--test-timeout=600000']
const { status } = spawnSync(process.execPath, [...flags, ...files], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, ESCLUSA_PICTURES: folder },
})
process.exit(status ?? 1)
