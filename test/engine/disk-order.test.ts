// The order of writes of a reception, and of small files that are sent by the dozen (docs/engine.md), as the disk sees it:
// what a power failure may leave depends on it, and nothing else shows it. A process that receives and sends files runs
// under strace, which also makes each sync take a while, so that nobody is ahead of one by luck.

import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { closeAfter, tempFolder } from '../support/harness.ts'

const CHILD = fileURLToPath(new URL('disk-order-child.ts', import.meta.url))
// A question mark: not every machine has the call.
const CALLS =
  'fsync,fdatasync,pwrite64,?link,linkat,?rename,?renameat,renameat2,?unlink,unlinkat,?access,faccessat'
const STRACE = [
  '--seccomp-bpf',
  '-f',
  '-y',
  '-s',
  '0',
  '-e',
  `trace=${CALLS}`,
  '-e',
  'inject=fsync,fdatasync:delay_enter=50000',
]

const probe = spawnSync('strace', [...STRACE, '-o', '/dev/null', 'true'])
const skip = probe.status === 0 ? false : 'SKIPPED: strace is not here, or may not trace'

const ELSEWHERE = '/dev/shm'
const isElsewhere =
  statSync(ELSEWHERE, { throwIfNoEntry: false })?.isDirectory() === true &&
  statSync(ELSEWHERE).dev !== statSync(tmpdir()).dev
const skipFar = isElsewhere ? false : `SKIPPED: ${ELSEWHERE} is no file system beside ${tmpdir()}`

/** One call of the system, by the lines of the journal where it began and ended. */
type Step = { what: string; began: number; ended: number }

/** `fsync(21</data/a>) = 0` is told as `sync /data/a`. What failed is left out, but for what the child tells so. */
function tellCall(call: string): string | undefined {
  const [, name = '', given = '', result = ''] = /^(\w+)\((.*)\)\s+= (-?\d+)/.exec(call) ?? []
  const paths = [...given.matchAll(/"([^"]+)"/g)].map(([, path = '']) => path)
  if (name.includes('access')) return paths[0]?.split('/told/')[1]
  if (result === '' || result === '-1') return undefined
  const opened = /<([^>]+)>/.exec(given)?.[1] ?? ''
  if (name.endsWith('sync')) return `sync ${opened}`
  if (name === 'pwrite64') return `write ${opened}`
  return `${name.replace(/at2?$/, '')} ${paths.join(' ')}`
}

function readJournal(text: string): Step[] {
  const unfinished = new Map<string, { call: string; began: number }>()
  const steps: Step[] = []
  for (const [ended, line] of text.split('\n').entries()) {
    const [, thread = '', said = ''] = /^(\d+)\s+(.*)$/.exec(line) ?? []
    const call = /^(.*) <unfinished \.\.\.>$/.exec(said)?.[1]
    if (call !== undefined) {
      unfinished.set(thread, { call, began: ended })
      continue
    }
    const rest = /^<\.\.\. \w+ resumed>(.*)$/.exec(said)?.[1]
    const open = rest === undefined ? undefined : unfinished.get(thread)
    const what = tellCall(open ? open.call + rest : said)
    if (what !== undefined) steps.push({ what, began: open?.began ?? ended, ended })
  }
  return steps
}

/** The journals of what the child moved, one after the other, by their names. */
async function moveUnderStrace(t: TestContext): Promise<Map<string, Step[]>> {
  const journal = join(await tempFolder(t), 'journal')
  const far = isElsewhere ? await mkdtemp(join(ELSEWHERE, 'esclusa-test-')) : ''
  if (far) closeAfter(t, () => rm(far, { recursive: true }))
  const { NODE_TEST_CONTEXT: _ours, ...env } = process.env
  await promisify(execFile)('strace', [...STRACE, '-o', journal, process.execPath, CHILD, far], {
    // One thread for the disk. The child keeps it busy before it says that a file is complete.
    env: { ...env, UV_THREADPOOL_SIZE: '1', UV_USE_IO_URING: '0' },
  })
  const parts = new Map<string, Step[]>()
  let part: Step[] = []
  for (const step of readJournal(await readFile(journal, 'utf8'))) {
    const name = /^begins (\w+)$/.exec(step.what)?.[1]
    if (name) parts.set(name, (part = []))
    else part.push(step)
  }
  return parts
}

/** Each step begins after the one before it has ended. */
function inOrder(journal: Step[] = [], ...wanted: RegExp[]): void {
  let before: Step = { what: 'the beginning', began: -1, ended: -1 }
  for (const next of wanted) {
    const { what, ended } = before
    const found = journal.find((step) => step.began > ended && next.test(step.what))
    const all = () => journal.map((step) => `${step.began}-${step.ended} ${step.what}`).join('\n')
    assert.ok(found, `no ${next.source} after ${what}:\n${all()}`)
    before = found
  }
}

/** How the octets got there that were linked to a name. */
function linkedFrom(journal: Step[] = [], linked: RegExp): RegExp[] {
  const [, from = 'nothing'] = journal.find(({ what }) => linked.test(what))?.what.split(' ') ?? []
  const path = from.replaceAll('.', '\\.')
  return [new RegExp(`^write ${path}$`), new RegExp(`^sync ${path}$`)]
}

const WRITE = /^write .*\/partial\/[^/]+\.part$/
const OCTETS = /^sync .*\/partial\/[^/]+\.part$/
const NAME_OF_OCTETS = /^sync .*\/partial$/
const MARK = /^rename .*\.part .*\.part\.placed$/
const COMMIT = /^sync .*-wal$/

test('the order in which files get to the disk', { skip }, async (t) => {
  const journals = await moveUnderStrace(t)

  await t.test('a small file: octets and row, link, acknowledgement; folder, last row', () => {
    const small = journals.get('SMALL')
    const linked = /^link .*\.quick\.part .*\/small\/SMALL$/
    inOrder(small, WRITE, OCTETS, linked, MARK, /^acknowledged/)
    inOrder(small, WRITE, NAME_OF_OCTETS, linked)
    inOrder(small, /^writes SMALL WHOLE/, COMMIT, /^wrote SMALL WHOLE/, linked)
    inOrder(
      small,
      linked,
      /^sync .*\/small$/,
      /^writes SMALL DONE/,
      COMMIT,
      /^wrote SMALL DONE/,
      /^unlink .*\.placed$/,
    )
  })

  await t.test('a big file: octets, row, link, folder, row, acknowledgement', () => {
    const big = journals.get('BIG')
    const linked = /^link .*\.part .*\/big\/BIG$/
    inOrder(big, WRITE, OCTETS, /^writes BIG WHOLE/, COMMIT, /^wrote BIG WHOLE/, linked)
    inOrder(big, WRITE, NAME_OF_OCTETS, /^writes BIG WHOLE/)
    inOrder(big, linked, /^sync .*\/big$/, /^writes BIG PLACED/, COMMIT, /^wrote BIG PLACED/, /^acknowledged/)
  })

  await t.test('a file that is moved: link, its folder, old name, its folder, row', () => {
    const linked = /^link .*\/big\/BIG .*\/moved\/BIG$/
    const [to, from] = [/^sync .*\/moved$/, /^sync .*\/big$/]
    inOrder(
      journals.get('BIG'),
      /^wrote BIG PLACED/,
      linked,
      to,
      /^unlink .*\/big\/BIG$/,
      from,
      /^writes BIG DONE/,
    )
  })

  await t.test('what a script makes of a file: octets, row, link', () => {
    const linked = /^link .*\.part .*\/script\/SCRIPT$/
    inOrder(
      journals.get('SCRIPT'),
      /^rename .*\.new .*\.part$/,
      OCTETS,
      /^writes SCRIPT WHOLE/,
      COMMIT,
      /^wrote SCRIPT WHOLE/,
      linked,
    )
  })

  await t.test('a restart point: octets, row', () => {
    const half = journals.get('HALF')
    const point = [/^writes HALF at 102400$/, COMMIT, /^wrote HALF at 102400$/]
    inOrder(half, WRITE, OCTETS, ...point, WRITE, OCTETS, /^writes HALF at 160000$/)
  })

  await t.test('a file for quarantine: its name there, the folder, row', () => {
    const kept = /^rename .*\/quarantine\/.*\/UNSIGNED$/
    inOrder(journals.get('UNSIGNED'), kept, /^sync .*\/quarantine\/[^/]+$/, COMMIT, /^refused UNSIGNED/)
  })

  await t.test('what a node finds placed that takes it over: the folder, then it counts as placed', () => {
    inOrder(journals.get('LINKED'), /^sync .*\/LINKED$/, MARK, /^placed/)
    inOrder(journals.get('MARKED'), /^sync .*\/MARKED$/, /^placed/)
  })

  await t.test(
    'small files sent by the dozen: octets, link, folder, row, mark',
    { skip: availableParallelism() < 2 && 'SKIPPED: on a single core files go one by one' },
    () => {
      const sent = journals.get('DOZEN')
      for (let nth = 0; nth < 8; nth++) {
        const linked = new RegExp(`^link .*\\.part .*/partner-in/D${nth}$`)
        const done = `D${nth} DONE`
        inOrder(sent, ...linkedFrom(sent, linked))
        inOrder(
          sent,
          linked,
          /^sync .*\/partner-in$/,
          new RegExp(`^writes ${done}`),
          COMMIT,
          new RegExp(`^wrote ${done}`),
          /^unlink .*\.done$/,
        )
      }
    },
  )

  await t.test(
    'to another file system: octets, copy, link, folder, mark, acknowledgement',
    { skip: skipFar },
    () => {
      const far = journals.get('FAR')
      const linked = /^link .*\/far\/\.esclusa-.*\.part .*\/far\/FAR$/
      inOrder(far, WRITE, OCTETS, /^sync .*\/far\/\.esclusa-.*\.part$/, linked)
      inOrder(far, linked, /^sync .*\/far$/, MARK, /^acknowledged/)
      inOrder(far, MARK, /^writes FAR DONE/)
    },
  )
})
