// Every block of docs/integrate.md is run against a node, each language as one program.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { fromRoot } from '../../src/root.ts'
import { tempFolder } from '../support/harness.ts'
import { CODE, isThere, PASSWORD, run, startScene, USERNAME, withoutJava } from './scene.ts'

const page = readFileSync(fromRoot('docs/integrate.md'), 'utf8')

function blocksOf(language: string): string {
  const blocks = [...page.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'gms'))]
  assert.ok(blocks.length > 0, language)
  return blocks.map(([, code = '']) => code).join('\n')
}

type Program = { file: string; text: string; command: string; args?: string[] }

/** What each of them prints: the channel, the new number of retries, the end of the send, and the refusal of a second. */
async function printsTheSame(
  t: TestContext,
  { file, text, command, args = [] }: Program,
  more: string[] = [],
) {
  const scene = await startScene(t)
  await scene.put('NOMINA.txt')
  const folder = await tempFolder(t)
  await writeFile(join(folder, file), text)
  const env = { ...process.env, ESCLUSA_URL: scene.url, ESCLUSA_USER: USERNAME, ESCLUSA_PASSWORD: PASSWORD }
  const { stdout } = await run(command, [...args, file], { cwd: folder, env }).catch(
    (thrown: { stdout?: string; stderr?: string }) => assert.fail(`${thrown.stdout}\n${thrown.stderr}`),
  )
  const [code, retries, status, refused, ...rest] = stdout.trim().split('\n')
  assert.deepEqual([code, retries, status], [CODE, '5', 'COMPLETED'])
  assert.match(refused ?? '', /^not now: NOMINA\.txt was sent already/)
  assert.deepEqual(rest, more)
  assert.ok((await readdir(scene.inbox)).includes('NOMINA.txt'))
  const channel = await scene.channel()
  assert.equal(channel.connection?.advancedConfigurationConnection?.retries, 5)
  assert.equal(channel.security?.localKey, 'what we say')
}

const withoutCurl = isThere('curl') && isThere('jq') ? undefined : 'SKIPPED: there is no curl or no jq here'

test('the recipes in curl work', { skip: withoutCurl ?? false }, (t) =>
  printsTheSame(t, { file: 'recipe.sh', text: `set -eu\n${blocksOf('sh')}`, command: 'bash' }, [
    'the token is over',
  ]),
)

test('the recipes in TypeScript work', (t) => {
  const client = fromRoot('sdk/index.ts').href
  const text = blocksOf('ts').replace("'@esclusa/sdk'", JSON.stringify(client))
  return printsTheSame(t, { file: 'recipe.ts', text, command: process.execPath, args: ['--no-warnings'] })
})

test('the recipes in Java work', { skip: withoutJava ?? false }, (t) =>
  printsTheSame(t, { file: 'Integrate.java', text: blocksOf('java'), command: 'java' }),
)
