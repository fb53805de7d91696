// For tests alone: a way into every state of the table, in both roles, held there until the test has said its word.
import type { OwedReceipt, Session, WireFile } from '../../../src/engine/transports/transport.ts'
import type { Command } from '../../../src/engine/transports/oftp2/protocol/commands.ts'
import type { State } from '../../../src/engine/transports/oftp2/protocol/machine.ts'
import { MACHINE } from '../../../src/engine/transports/oftp2/protocol/machine.ts'
import { Oftp2Session } from '../../../src/engine/transports/oftp2/session.ts'
import type { SessionCrypto } from '../../../src/engine/transports/oftp2/settings.ts'
import { CALLED, CALLER, never, noise, nothingOpen, push, TrialEnds, wireFile } from './ends.ts'
import type { TrialHost } from './host.ts'
import { SAMPLES, TrialPartner, TrialServer } from './partner.ts'

export type Role = 'calling' | 'called'

export const OWED: OwedReceipt = {
  id: '1',
  key: { name: 'FILE', date: '20261115', time: '1200000001' },
  positive: true,
  reason: '',
  reasonCode: '',
  hash: undefined,
  signed: false,
  originator: 'X',
  destination: 'Y',
}

const FIRST = { calling: 'I_WF_RM', called: 'A_NC_ONLY' } as const

/** Every state that the table lets an end of that role come to. */
export function statesOf(role: Role): State[] {
  const found = new Set<State>([FIRST[role]])
  for (const state of found) {
    // A session that is over does not begin again.
    if (state === 'IDLE') continue
    const { hears, says, becomes = [] } = MACHINE[state]
    const heard = Object.values(hears).map(([, next]) => next)
    for (const next of [...heard, ...Object.values(says), ...becomes]) found.add(next)
  }
  return [...found]
}

/** A door that somebody waits at until it is opened, so that a state lasts as long as the test needs it. */
export class Gate {
  readonly #entered = Promise.withResolvers<void>()
  readonly #opened = Promise.withResolvers<void>()
  readonly entered = this.#entered.promise

  readonly wait = (): Promise<void> => {
    this.#entered.resolve()
    return this.#opened.promise
  }

  open(): void {
    this.#opened.resolve()
  }
}

/** Challenges that travel as they are: only their places in the session matter here. */
function plainCrypto(before: { close?: Gate; open?: Gate }): SessionCrypto {
  return {
    encryptChallenge: async (_, challenge) => (await before.close?.wait(), challenge),
    decryptChallenge: async (_, closed) => (await before.open?.wait(), closed.subarray(0, 20)),
    signReceipt: (_, content) => content,
    signatureFault: () => 'another key',
  }
}

const CERTIFICATE = { authentication: 'CERTIFICATE', rsaLocalKey: 'ours', rsaRemoteKey: 'theirs' } as const

/** One session of this node in one role, with a scripted partner at the other end. */
export class Scene {
  readonly role: Role
  readonly ends: TrialEnds
  /** This node's end of it. */
  readonly host: TrialHost
  readonly partner: TrialPartner
  readonly challenges: { close?: Gate; open?: Gate }
  readonly #server: TrialServer | undefined
  readonly #session: Promise<Session> | undefined
  readonly #gates: Gate[] = []

  private constructor(parts: {
    role: Role
    ends: TrialEnds
    partner: TrialPartner
    challenges: { close?: Gate; open?: Gate }
    server?: TrialServer
    session?: Promise<Session>
  }) {
    this.role = parts.role
    this.ends = parts.ends
    this.host = parts.role === 'calling' ? parts.ends.caller : parts.ends.called
    this.partner = parts.partner
    this.challenges = parts.challenges
    this.#server = parts.server
    this.#session = parts.session
  }

  static async begin(role: Role, secure: boolean): Promise<Scene> {
    const challenges = {}
    const end = secure ? { security: CERTIFICATE } : {}
    const ends = new TrialEnds({ caller: end, called: end, crypto: plainCrypto(challenges) })
    if (role === 'called') {
      const partner = await TrialPartner.call(await ends.listen())
      return new Scene({ role, ends, partner, challenges })
    }
    const server = new TrialServer()
    const port = await server.listen()
    const arriving = server.next()
    const session = ends.call(port)
    // Whoever needs it waits for it; a handshake that is broken on purpose has nobody waiting.
    session.catch(() => undefined)
    return new Scene({ role, ends, partner: await arriving, challenges, server, session })
  }

  gate(): Gate {
    const gate = new Gate()
    this.#gates.push(gate)
    return gate
  }

  /** The session as this node has it. */
  async session(): Promise<Oftp2Session> {
    const session = await (this.#session ?? this.host.sessions[0])
    if (session instanceof Oftp2Session) return session
    throw new Error('there is no session yet')
  }

  ssid(secure = false): Command {
    const code = this.role === 'calling' ? CALLED : CALLER
    const authentication = secure ? 'Y' : 'N'
    return { ...SAMPLES.SSID, code, credit: 2, bufferSize: 128, authentication }
  }

  /** As the partner would offer it to this end. */
  get sfid(): Command {
    const [destination, originator] = this.role === 'calling' ? [CALLER, CALLED] : [CALLED, CALLER]
    return { ...SAMPLES.SFID, destination, originator }
  }

  /** Lets everybody go on, and closes whatever is left of it. */
  async end(): Promise<void> {
    for (const gate of this.#gates) gate.open()
    await this.#session?.then(
      (session) => session.close(),
      () => undefined,
    )
    await this.#server?.close()
    await this.ends.close()
    await nothingOpen()
  }
}

/** Comes into the state. What it gives must be said in one breath with what follows: the state lasts no longer. */
type Way = (scene: Scene) => Promise<Command[] | void>

/** Up to the moment where the caller may speak. */
async function met(scene: Scene): Promise<void> {
  const { role, partner } = scene
  if (role === 'called') {
    await partner.expect('SSRM')
    await partner.say(scene.ssid()).expect('SSID')
  } else {
    await partner.say(SAMPLES.SSRM).expect('SSID')
    partner.say(scene.ssid())
    await scene.session()
  }
}

/** This end listens, and has said nothing since it gave the turn away. */
async function listening(scene: Scene): Promise<void> {
  await met(scene)
  if (scene.role === 'called') return
  const session = await scene.session()
  session.fetch(never).catch(() => undefined)
  await scene.partner.expect('CD')
}

/** This end has the turn and pushes a file; the called end keeps the turn when that is over. */
async function offering(scene: Scene, file: WireFile = small()): Promise<void> {
  const keep = scene.gate()
  const pushing = (session: Session) => push(session, file).catch(() => undefined)
  scene.host.onTurn = async (session) => (await pushing(session), keep.wait())
  await met(scene)
  if (scene.role === 'called') scene.partner.say(SAMPLES.CD)
  else void pushing(await scene.session())
  await scene.partner.expect('SFID')
}

const small = (): WireFile => wireFile(noise(10), { kind: 'U', recordLength: 0 })

async function ending(scene: Scene): Promise<void> {
  await offering(scene)
  await scene.partner.say(SAMPLES.SFPA).expect('DATA')
  await scene.partner.expect('EFID')
}

async function taking(scene: Scene): Promise<void> {
  await listening(scene)
  await scene.partner.say(scene.sfid).expect('SFPA')
}

/** The partner has the turn, has said something, and hands it over: this end may end the session. */
async function handed(scene: Scene): Promise<void> {
  await listening(scene)
  await scene.partner.say(SAMPLES.EERP).expect('RTR')
  scene.partner.say(SAMPLES.CD)
}

/** Up to where authentication begins: the caller asks for a challenge. */
async function secured(scene: Scene): Promise<void> {
  const { role, partner } = scene
  if (role === 'called') {
    await partner.expect('SSRM')
    await partner.say(scene.ssid(true)).expect('SSID')
  } else {
    await partner.say(SAMPLES.SSRM).expect('SSID')
    await partner.say(scene.ssid(true)).expect('SECD')
  }
}

/** This end waits to be asked for a challenge: the caller has answered the partner's by then. */
async function unasked(scene: Scene): Promise<void> {
  await secured(scene)
  if (scene.role === 'calling') await scene.partner.say(SAMPLES.AUCH).expect('AURP')
}

async function challenging(scene: Scene): Promise<Command> {
  await unasked(scene)
  const { challenge } = await scene.partner.say(SAMPLES.SECD).expect('AUCH')
  return { kind: 'AURP', response: challenge }
}

/** This end waits for the partner's challenge: the called end has checked the partner by then. */
async function unchallenged(scene: Scene): Promise<void> {
  if (scene.role === 'calling') return secured(scene)
  await scene.partner.say(await challenging(scene)).expect('SECD')
}

/** States between SECD and the last AURP: both ends need keys there. */
export const SECURE: ReadonlySet<State> = new Set(['WF_SECD', 'AUCHP', 'WF_AURP', 'WF_AUCH', 'AURPP'])

export const WAYS: Readonly<Record<State, Way>> = {
  IDLE: async (scene) => {
    await met(scene)
    return [SAMPLES.ESID]
  },

  I_WF_RM: async () => undefined,
  I_WF_SSID: async ({ partner }) => void (await partner.say(SAMPLES.SSRM).expect('SSID')),
  A_NC_ONLY: async ({ partner }) => void (await partner.expect('SSRM')),
  A_WF_CONRS: async (scene) => {
    const gate = scene.gate()
    scene.host.before.admit = gate.wait
    await scene.partner.expect('SSRM')
    scene.partner.say(scene.ssid())
    await gate.entered
  },

  WF_SECD: unasked,
  AUCHP: async (scene) => {
    const gate = (scene.challenges.close = scene.gate())
    await unasked(scene)
    scene.partner.say(SAMPLES.SECD)
    await gate.entered
  },
  WF_AURP: async (scene) => void (await challenging(scene)),
  WF_AUCH: unchallenged,
  AURPP: async (scene) => {
    const gate = (scene.challenges.open = scene.gate())
    await unchallenged(scene)
    scene.partner.say(SAMPLES.AUCH)
    await gate.entered
  },

  IDLESP: async (scene) => {
    await offering(scene)
    scene.partner.say(SAMPLES.SFNA)
  },
  IDLESPCD: async (scene) => {
    const gate = scene.gate()
    scene.host.onTurn = gate.wait
    await handed(scene)
    await gate.entered
  },
  OPOP: (scene) => offering(scene),
  OPO: async (scene) => {
    const gate = scene.gate()
    const file = small()
    const read = async (into: Uint8Array, position: number) => (
      await gate.wait(),
      file.source.read(into, position)
    )
    await offering(scene, { ...file, source: { size: file.source.size, read } })
    scene.partner.say(SAMPLES.SFPA)
    await gate.entered
  },
  OPOWFC: async (scene) => {
    await offering(scene, wireFile(noise(2000), { kind: 'U', recordLength: 0 }))
    await scene.partner.say(SAMPLES.SFPA).expect('DATA')
    await scene.partner.expect('DATA')
  },
  CLOP: ending,
  CD_DUE: async (scene) => {
    await ending(scene)
    return [{ ...SAMPLES.EFPA, changeDirection: 'Y' }]
  },
  WF_RTR: async (scene) => {
    scene.host.owed.push(OWED)
    await met(scene)
    if (scene.role === 'called') scene.partner.say(SAMPLES.CD)
    await scene.partner.expect('EERP')
  },
  WF_CD: async (scene) => {
    await taking(scene)
    push(await scene.session(), small()).catch(() => undefined)
    const { changeDirection } = await scene.partner.say(SAMPLES.DATA, SAMPLES.EFID).expect('EFPA')
    if (changeDirection !== 'Y') throw new Error('the turn was not asked for')
  },

  IDLELI: async (scene) => {
    await listening(scene)
    await scene.partner.say(SAMPLES.EERP).expect('RTR')
  },
  IDLELICD: async (scene) => {
    scene.host.owed.push(OWED)
    await met(scene)
    if (scene.role === 'called') scene.partner.say(SAMPLES.CD)
    else (await scene.session()).fetch(never).catch(() => undefined)
    await scene.partner.expect('EERP')
    await scene.partner.say(SAMPLES.RTR).expect('CD')
  },
  OPIP: async (scene) => {
    const gate = scene.gate()
    scene.host.before.offer = gate.wait
    await listening(scene)
    scene.partner.say(scene.sfid)
    await gate.entered
  },
  OPI: taking,
  CLIP: async (scene) => {
    const gate = scene.gate()
    scene.host.before.complete = gate.wait
    await taking(scene)
    scene.partner.say(SAMPLES.DATA, SAMPLES.EFID)
    await gate.entered
  },
  RTRP: async (scene) => {
    const gate = scene.gate()
    scene.host.before.receipt = gate.wait
    await listening(scene)
    scene.partner.say(SAMPLES.EERP)
    await gate.entered
  },

  WF_NDISC: async (scene) => {
    await handed(scene)
    // The caller ends when it is told to, the called end as soon as it has nothing to say.
    if (scene.role === 'calling') void (await scene.session()).close()
    await scene.partner.expect('ESID')
  },
}
