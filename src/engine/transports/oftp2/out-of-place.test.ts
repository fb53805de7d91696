// Every command in every state, in both roles: what the state does not hear ends the session with ESID 02 and leaves
// nothing behind. States come from the table; one that has no way into it here, or that its way does not reach, fails.
import assert from 'node:assert/strict'
import test, { afterEach } from 'node:test'
import type { Command } from './protocol/commands.ts'
import { COMMAND_KINDS } from './protocol/commands.ts'
import type { Event, State } from './protocol/machine.ts'
import { eventOf, MACHINE } from './protocol/machine.ts'
import { tidy } from '../../../../test/support/oftp2/ends.ts'
import { SAMPLES, TrialPartner } from '../../../../test/support/oftp2/partner.ts'
import type { Role } from '../../../../test/support/oftp2/states.ts'
import { Scene, SECURE, statesOf, WAYS } from '../../../../test/support/oftp2/states.ts'

afterEach(tidy)

/** What may be heard by the standard's own tables (RFC 5024, 9.8 to 9.12), ESID apart, which may come at any time. */
const STANDARD: Record<State, Event[]> = {
  IDLE: [],
  I_WF_RM: ['SSRM'],
  I_WF_SSID: ['SSID'],
  A_NC_ONLY: ['SSID'],
  A_WF_CONRS: [],
  WF_SECD: ['SECD'],
  AUCHP: [],
  WF_AURP: ['AURP'],
  WF_AUCH: ['AUCH'],
  AURPP: [],
  IDLESP: [],
  IDLESPCD: [],
  OPOP: ['SFPA', 'SFNA'],
  // The one thing that is heard beyond the standard: credit while some is left.
  OPO: ['CDT'],
  OPOWFC: ['CDT'],
  CLOP: ['EFPA', 'EFPA_CD', 'EFNA'],
  CD_DUE: [],
  WF_RTR: ['RTR'],
  WF_CD: ['CD'],
  IDLELI: ['SFID', 'EERP', 'NERP', 'CD'],
  IDLELICD: ['SFID', 'EERP', 'NERP'],
  OPIP: [],
  OPI: ['DATA', 'EFID'],
  CLIP: [],
  RTRP: [],
  WF_NDISC: [],
}

/** The session is over there: nothing is heard any more, and nothing is answered. */
const DEAF: ReadonlySet<State> = new Set(['IDLE', 'WF_NDISC'])

const EVERY_COMMAND: Command[] = [
  ...COMMAND_KINDS.map((kind) => SAMPLES[kind]),
  { ...SAMPLES.EFPA, changeDirection: 'Y' },
]

test('each state hears what the standard’s tables say', () => {
  for (const [state, { hears }] of Object.entries(MACHINE)) {
    const heard = Object.keys(hears).filter((event) => event !== 'ESID')
    assert.deepEqual(heard.toSorted(), STANDARD[state as State].toSorted(), state)
    assert.equal('ESID' in hears, !DEAF.has(state as State), state)
  }
})

test('every state of the table belongs to one of the two roles at least', () => {
  const all = new Set([...statesOf('calling'), ...statesOf('called')])
  assert.deepEqual([...all].toSorted(), Object.keys(MACHINE).toSorted())
})

for (const role of ['calling', 'called'] as const) {
  for (const state of statesOf(role)) {
    test(`${role}, in ${state}: every command out of place ends the session and leaves nothing`, async () => {
      for (const command of EVERY_COMMAND) {
        if (STANDARD[state].includes(eventOf(command))) continue
        await outOfPlace(role, state, command)
      }
    })
  }
}

async function outOfPlace(role: Role, state: State, command: Command): Promise<void> {
  const about = `${eventOf(command)} in ${state}, ${role}`
  const scene = await Scene.begin(role, SECURE.has(state))
  const { partner, host } = scene
  const together = (await WAYS[state](scene)) ?? []
  if (DEAF.has(state)) await unanswered(scene, state, [...together, command])
  else {
    partner.say(...together, command)
    const said = await partner.lastWord()
    if (command.kind === 'ESID') assert.equal(said, undefined, `${about} is answered`)
    else {
      assert.equal(said?.reason, '02', about)
      // The proof that the way led where it should.
      assert.equal(said.text, `${eventOf(command)} is out of place in state ${state}`)
    }
  }
  if (role === 'called') await stillServes(scene, SECURE.has(state))
  await scene.end()
  // In these two a whole file had come in order before the partner broke the rules.
  assert.ok(host.complete.length <= (state === 'CLIP' || state === 'WF_CD' ? 1 : 0), `${about}: a file`)
  assert.equal(host.unsettled, 0, `${about}: a file that is neither kept nor thrown away`)
}

async function unanswered(scene: Scene, state: State, commands: Command[]): Promise<void> {
  const { partner } = scene
  const { conversation } = await scene.session()
  if (state === 'WF_NDISC') assert.equal(conversation.state, state)
  partner.say(...commands)
  // Over WF_NDISC the partner closes; after its own ESID the node does.
  if (state === 'WF_NDISC') partner.hangUp()
  assert.equal(await partner.hear(), undefined, `${state} answers`)
  await partner.whenClosed()
  await conversation.whenClosed()
  assert.equal(conversation.state, 'IDLE')
  assert.ok(conversation.endedInOrder)
}

/** The next caller is served as if nothing had been. */
async function stillServes(scene: Scene, secure: boolean): Promise<void> {
  const { host, ends } = scene
  host.before = {}
  host.onTurn = async () => undefined
  host.owed.length = 0
  const partner = await TrialPartner.call(await ends.listen())
  await partner.expect('SSRM')
  await partner.say(scene.ssid(secure)).expect('SSID')
  if (secure) partner.hangUp()
  else assert.equal(await partner.say(SAMPLES.CD).expectEnd(), '00')
  await partner.whenClosed()
}
