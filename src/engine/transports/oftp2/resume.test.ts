import assert from 'node:assert/strict'
import test, { afterEach } from 'node:test'
import type { RecordFormat, WireFile } from '../transport.ts'
import { contentOf } from '../../../../test/support/oftp2/host.ts'
import type { Cut, EndOptions } from '../../../../test/support/oftp2/ends.ts'
import {
  boundaries,
  BreakingLine,
  commandsIn,
  contentsOfData,
  noise,
  Progress,
  push,
  TrialEnds,
  variableRecords,
  wireFile,
  tidy,
} from '../../../../test/support/oftp2/ends.ts'

afterEach(tidy)

type Case = { title: string; content: Buffer; format: RecordFormat; end: EndOptions }

const tight = { settings: { bufferSize: 400, credit: 3 } }

const CASES: Case[] = [
  { title: 'U', content: noise(5_300), format: { kind: 'U', recordLength: 0 }, end: tight },
  { title: 'F', content: noise(70 * 80), format: { kind: 'F', recordLength: 80 }, end: tight },
  { title: 'V', content: variableRecords(60, 150), format: { kind: 'V', recordLength: 150 }, end: tight },
  {
    title: 'V compressed',
    content: variableRecords(60, 150),
    format: { kind: 'V', recordLength: 150 },
    end: { ...tight, compression: true },
  },
]

/** Pushes through a line that breaks, then again over a sound one; gives how much came by the second. */
async function cutAndResume(
  { content, format, end }: Case,
  cut: Cut,
): Promise<{ again: boolean; from: number }> {
  const ends = new TrialEnds({ caller: end, called: end })
  const line = new BreakingLine(await ends.listen(), cut)
  const port = await line.open()
  const first = new Progress()
  const file = wireFile(content, format)
  let again = false
  try {
    const session = await ends.call(port)
    try {
      await push(session, file, first)
    } finally {
      await session.close()
    }
  } catch (error) {
    assert.ok(
      error instanceof Error && 'retry' in error && error.retry === true,
      `cut ${JSON.stringify(cut)}: ${String(error)}`,
    )
    again = true
  }
  await line.close()
  // The receiver sees the end of the broken session in its own time; only then is the file free for another.
  await Promise.all(ends.called.sessions.map((session) => session.close()))
  const resumed = new StartSeen(file, { restartFrom: first.safePosition, mayBeThere: first.placed })
  const arrived = ends.called.complete.length === 1
  const here = [...ends.called.files.values()][0]?.size ?? 0
  if (again) {
    const sound = new BreakingLine(await ends.listen())
    const session = await ends.call(await sound.open())
    await push(session, resumed.file)
    await session.close()
    await sound.close()
    if (!arrived)
      carriedTheRest(sound, { content, format, end, title: '' }, Math.min(first.safePosition, here))
  }
  assert.equal(ends.called.complete.length, 1, `cut ${JSON.stringify(cut)}`)
  assert.ok(contentOf(ends.called.complete[0]).equals(content), `cut ${JSON.stringify(cut)}: other octets`)
  await ends.close()
  return { again, from: resumed.from }
}

/** The second try began at the last restart point before `known` octets, and what lies before it did not travel again. */
function carriedTheRest({ sent }: BreakingLine, { content, format, end }: Case, known: number): void {
  const [sfid] = commandsIn(sent.caller).filter((command) => command.kind === 'SFID')
  const [sfpa] = commandsIn(sent.called).filter((command) => command.kind === 'SFPA')
  assert.ok(sfid && sfpa && sfpa.position <= sfid.restart)
  const ends = restartPoints(content, format).filter((octets) => octets <= known)
  const expected = end.settings?.restart === false ? 0 : ends.length - 1
  assert.equal(Number(sfpa.position), expected, `${known} octets were known to have arrived`)
  let carried = 0
  for (const command of commandsIn(sent.caller)) {
    if (command.kind !== 'DATA') continue
    const { octets, records } = contentsOfData(command.payload)
    carried += octets + (format.kind === 'V' ? 2 * records : 0)
  }
  assert.equal(carried, content.length - (ends[expected] ?? 0))
}

/** Where restart point 0, 1, 2... lies in the file. */
function restartPoints(content: Buffer, { kind, recordLength }: RecordFormat): number[] {
  const points = [0]
  for (let at = 0; at < content.length; points.push(at))
    at += kind === 'V' ? 2 + content.readUInt16BE(at) : kind === 'F' ? recordLength : 1024
  return points
}

/** A file that remembers where its sending began. */
class StartSeen {
  readonly file: WireFile
  from = -1
  #last = -1

  constructor(file: WireFile, options: Partial<WireFile>) {
    this.file = {
      ...file,
      ...options,
      source: {
        size: file.source.size,
        read: (into, position) => {
          // Walking over V records reads from the start too; the sending begins at the last jump.
          if (position !== this.#last) this.from = position
          this.#last = position + Math.min(into.length, file.source.size - position)
          return file.source.read(into, position)
        },
      },
    }
  }
}

for (const one of CASES) {
  test(`${one.title}: cut at every command and inside data, the file goes on from a restart point and is the same`, async () => {
    const ends = new TrialEnds({ caller: one.end, called: one.end })
    const line = new BreakingLine(await ends.listen())
    const session = await ends.call(await line.open())
    await push(session, wireFile(one.content, one.format))
    await session.close()
    await line.close()
    await ends.close()
    let resumed = 0
    for (const from of ['caller', 'called'] as const) {
      for (const after of boundaries(line.sent[from]).flatMap((end) => [end - 1, end])) {
        const { again, from: start } = await cutAndResume(one, { from, after })
        if (again && start > 0) resumed += 1
      }
    }
    assert.ok(resumed > 10, `only ${resumed} cuts were followed by a resumption`)
  })
}

test('a large file cut in the middle resumes near the cut', async () => {
  const content = noise(8_000_000)
  const one: Case = { title: '', content, format: { kind: 'U', recordLength: 0 }, end: {} }
  const { from } = await cutAndResume(one, { from: 'caller', after: 5_000_000 })
  assert.ok(from > 3_000_000 && from <= 5_000_000, `resumed at ${from}`)
})

test('without restart agreed a cut file starts over', async () => {
  const one: Case = {
    title: '',
    content: noise(50_000),
    format: { kind: 'U', recordLength: 0 },
    end: { settings: { restart: false } },
  }
  const { from } = await cutAndResume(one, { from: 'caller', after: 20_000 })
  assert.equal(from, 0)
})

test('the sender takes up where the receiver says, though it offered more', async () => {
  for (const format of [
    { kind: 'U', recordLength: 0 },
    { kind: 'V', recordLength: 100 },
    { kind: 'F', recordLength: 80 },
  ] as RecordFormat[]) {
    const content = format.kind === 'V' ? variableRecords(200, 100) : noise(80 * 100)
    const ends = new TrialEnds()
    const file = wireFile(content, format)
    const half = Math.floor(content.length / 2) + 1
    const session = await ends.call()
    ends.called.before.complete = () => Promise.reject(new Error('not yet'))
    await assert.rejects(push(session, file))
    const [stored] = [...ends.called.files.values()]
    assert.ok(stored)
    stored.size = half
    ends.called.before = {}
    await push(session, { ...file, restartFrom: content.length })
    await session.close()
    assert.ok(contentOf(ends.called.complete[0]).equals(content))
    await ends.close()
  }
})
