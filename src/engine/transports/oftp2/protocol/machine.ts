// The session's states (RFC 5024, 9.3 and 9.8 to 9.12) as one table: what may be heard in each state and where that
// leads, what may be said and where that leads, and which clock runs meanwhile. What a state does not hear is a
// protocol violation and ends the session with ESID 02; what it does not say is a fault of this node.
//
// The table holds no state itself: conversation.ts keeps the current one and goes by the table.
//
// IDLE        nothing open                          I_WF_RM     called, waits for the ready message
// I_WF_SSID   said who it is, waits for the partner  A_NC_ONLY   was called, waits for the caller's name
// A_WF_CONRS  looks the caller up                    WF_SECD     waits to be asked for a challenge
// AUCHP       makes a challenge                      WF_AURP     waits for the challenge's answer
// WF_AUCH     waits for the partner's challenge      AURPP       opens the partner's challenge
// IDLESP      speaker at rest                        IDLESPCD    speaker by the partner's own wish: may end
// OPOP        file offered                           OPO         sends data
// OPOWFC      waits for credit                       CLOP        file ended, waits for the verdict
// CD_DUE      the partner asked for the turn          WF_RTR      receipt sent, waits for its confirmation
// WF_CD       asked for the turn, waits for it        IDLELI      listener at rest
// IDLELICD    listener that gave the turn: no CD back OPIP        looks at an offered file
// OPI         takes data                             CLIP        puts a whole file in place
// RTRP        records a receipt                      WF_NDISC    said the end, waits for the line to close
//
// A wish for the turn (negotiation.ts) makes two moves without a command: IDLELICD becomes IDLELI at the end that says it,
// IDLESP and IDLESPCD become CD_DUE at the end that hears it.
//
// Split events: EFPA_CD is EFPA with CD=Y; DATA_LAST spends the last credit; SSID_AUTH answers with authentication;
// AURP_LAST is the answer of the called end, after which it listens.
import type { Command, CommandKind } from './commands.ts'

export type State =
  | 'IDLE'
  | 'I_WF_RM'
  | 'I_WF_SSID'
  | 'A_NC_ONLY'
  | 'A_WF_CONRS'
  | 'WF_SECD'
  | 'AUCHP'
  | 'WF_AURP'
  | 'WF_AUCH'
  | 'AURPP'
  | 'IDLESP'
  | 'IDLESPCD'
  | 'OPOP'
  | 'OPO'
  | 'OPOWFC'
  | 'CLOP'
  | 'CD_DUE'
  | 'WF_RTR'
  | 'WF_CD'
  | 'IDLELI'
  | 'IDLELICD'
  | 'OPIP'
  | 'OPI'
  | 'CLIP'
  | 'RTRP'
  | 'WF_NDISC'

export type Event = CommandKind | 'EFPA_CD' | 'DATA_LAST' | 'SSID_AUTH' | 'AURP_LAST'

/** What a heard command makes this end do. */
export type Action =
  | 'greet'
  | 'agree'
  | 'admit'
  | 'challenge'
  | 'respond'
  | 'checkResponse'
  | 'answer'
  | 'credit'
  | 'offer'
  | 'data'
  | 'endFile'
  | 'receipt'
  | 'turn'
  | 'ended'

/**
 * sync: the session is being set up. ack: the partner owes an answer. idle: at rest. turn: the partner has the turn; a
 * called partner owes something then, a calling one may rest. none: this end is at work.
 */
export type Clock = 'sync' | 'ack' | 'idle' | 'turn' | 'none'

type Row = {
  clock: Clock
  hears: Partial<Record<Event, readonly [Action, State]>>
  says: Partial<Record<Event, State>>
  /** Moves without a command of our own. */
  becomes?: readonly State[]
}

const END = { ESID: ['ended', 'IDLE'] } as const
const SPEAKS = { SFID: 'OPOP', EERP: 'WF_RTR', NERP: 'WF_RTR' } as const
const LISTENS = { SFID: ['offer', 'OPIP'], EERP: ['receipt', 'RTRP'], NERP: ['receipt', 'RTRP'] } as const

export const MACHINE: Readonly<Record<State, Row>> = {
  IDLE: { clock: 'none', hears: {}, says: {}, becomes: ['I_WF_RM', 'A_NC_ONLY'] },

  I_WF_RM: { clock: 'sync', hears: { SSRM: ['greet', 'I_WF_RM'], ...END }, says: { SSID: 'I_WF_SSID' } },
  I_WF_SSID: {
    clock: 'sync',
    hears: { SSID: ['agree', 'I_WF_SSID'], ...END },
    says: { SECD: 'WF_AUCH' },
    becomes: ['IDLESP'],
  },
  A_NC_ONLY: { clock: 'sync', hears: { SSID: ['admit', 'A_WF_CONRS'], ...END }, says: { SSRM: 'A_NC_ONLY' } },
  A_WF_CONRS: { clock: 'none', hears: { ...END }, says: { SSID: 'IDLELI', SSID_AUTH: 'WF_SECD' } },

  WF_SECD: { clock: 'sync', hears: { SECD: ['challenge', 'AUCHP'], ...END }, says: {} },
  AUCHP: { clock: 'none', hears: { ...END }, says: { AUCH: 'WF_AURP' } },
  WF_AURP: {
    clock: 'sync',
    hears: { AURP: ['checkResponse', 'WF_AURP'], ...END },
    says: { SECD: 'WF_AUCH' },
    becomes: ['IDLESP'],
  },
  WF_AUCH: { clock: 'sync', hears: { AUCH: ['respond', 'AURPP'], ...END }, says: {} },
  AURPP: { clock: 'none', hears: { ...END }, says: { AURP: 'WF_SECD', AURP_LAST: 'IDLELI' } },

  IDLESP: {
    clock: 'none',
    hears: { ...END },
    says: { ...SPEAKS, CD: 'IDLELICD' },
    becomes: ['CD_DUE'],
  },
  IDLESPCD: {
    clock: 'none',
    hears: { ...END },
    says: { ...SPEAKS, ESID: 'WF_NDISC' },
    becomes: ['CD_DUE'],
  },
  OPOP: { clock: 'ack', hears: { SFPA: ['answer', 'OPO'], SFNA: ['answer', 'IDLESP'], ...END }, says: {} },
  // The standard forbids CDT while credit is left. Some peers send it, and it does no harm.
  OPO: {
    clock: 'ack',
    hears: { CDT: ['credit', 'OPO'], ...END },
    says: { DATA: 'OPO', DATA_LAST: 'OPOWFC', EFID: 'CLOP' },
  },
  OPOWFC: { clock: 'ack', hears: { CDT: ['credit', 'OPO'], ...END }, says: {} },
  CLOP: {
    clock: 'ack',
    hears: { EFPA: ['answer', 'IDLESP'], EFPA_CD: ['answer', 'CD_DUE'], EFNA: ['answer', 'IDLESP'], ...END },
    says: {},
  },
  CD_DUE: { clock: 'none', hears: { ...END }, says: { CD: 'IDLELI' } },
  WF_RTR: { clock: 'ack', hears: { RTR: ['answer', 'IDLESP'], ...END }, says: {} },
  WF_CD: { clock: 'ack', hears: { CD: ['turn', 'IDLESP'], ...END }, says: {} },

  IDLELI: { clock: 'idle', hears: { ...LISTENS, CD: ['turn', 'IDLESPCD'], ...END }, says: {} },
  IDLELICD: { clock: 'turn', hears: { ...LISTENS, ...END }, says: {}, becomes: ['IDLELI'] },
  OPIP: { clock: 'none', hears: { ...END }, says: { SFPA: 'OPI', SFNA: 'IDLELI' } },
  OPI: {
    clock: 'ack',
    hears: { DATA: ['data', 'OPI'], EFID: ['endFile', 'CLIP'], ...END },
    says: { CDT: 'OPI' },
  },
  CLIP: { clock: 'none', hears: { ...END }, says: { EFPA: 'IDLELI', EFPA_CD: 'WF_CD', EFNA: 'IDLELI' } },
  RTRP: { clock: 'none', hears: { ...END }, says: { RTR: 'IDLELI' } },

  WF_NDISC: { clock: 'none', hears: {}, says: {} },
}

/** The event that a command on the line stands for. */
export function eventOf(command: Command): Event {
  return command.kind === 'EFPA' && command.changeDirection === 'Y' ? 'EFPA_CD' : command.kind
}

/** Listening between two files, before or after this end has had the turn. */
export function isResting(state: State): boolean {
  return state === 'IDLELI' || state === 'IDLELICD'
}

const LISTENING: readonly State[] = ['IDLELI', 'IDLELICD', 'OPIP', 'OPI', 'CLIP', 'RTRP', 'WF_CD']

export function isListener(state: State): boolean {
  return LISTENING.includes(state)
}

export function isSpeaker(state: State): boolean {
  return state === 'IDLESP' || state === 'IDLESPCD'
}
