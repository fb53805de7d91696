// What the two SSID commands settle (RFC 5024, 5.3.2): level, buffer size, credit, ways, compression, restart,
// authentication. Whatever cannot be settled is an error that carries the ESID reason to end with.
//
// A listener of the standard cannot ask for the turn while the speaker rests: it waits until the session idles out. Where
// both ends name WISHES as their SSIDUSER, which the standard leaves to the two ends, it can: it sends a stream buffer with
// nothing in it, and the speaker gives the turn as soon as it is at rest. Other partners never get one.
import type { CommandOf, Level } from './commands.ts'
import { checkPassword, ownPassword } from './auth.ts'
import { ending, fault } from './reasons.ts'
import type { Party } from '../settings.ts'
import { exchangeLimits } from '../settings.ts'

export type Agreement = {
  level: Level
  bufferSize: number
  credit: number
  compression: boolean
  restart: boolean
  authentication: boolean
  canSend: boolean
  canReceive: boolean
  /** A listener may ask for the turn. */
  wishes: boolean
}

const WISHES = 'TURNWISH'

type Ssid = CommandOf<'SSID'>

function yesNo(value: boolean): 'Y' | 'N' {
  return value ? 'Y' : 'N'
}

/** How this end introduces itself to a partner it calls. */
export function proposal(party: Party): Ssid {
  const { bufferSize, credit } = exchangeLimits(party.settings)
  return {
    kind: 'SSID',
    level: 5,
    code: party.localId,
    password: ownPassword(party.security),
    bufferSize,
    ways: party.ways,
    compression: yesNo(party.compression),
    restart: yesNo(party.settings.restart ?? true),
    special: 'N',
    credit,
    authentication: yesNo(party.security.authentication === 'CERTIFICATE'),
    user: party.settings.user ?? WISHES,
  }
}

/** The called end's answer to a caller, and what holds from then on. */
export function answerCaller(party: Party, theirs: Ssid): { answer: Ssid; agreement: Agreement } {
  checkPassword(party.security, theirs.password)
  const own = proposal(party)
  const agreement = settle(party, own, theirs)
  const answer: Ssid = {
    ...own,
    level: agreement.level,
    bufferSize: agreement.bufferSize,
    ways: agreement.canSend ? (agreement.canReceive ? 'B' : 'S') : 'R',
    compression: yesNo(agreement.compression),
    restart: yesNo(agreement.restart),
    credit: agreement.credit,
  }
  return { answer, agreement }
}

/** What holds after the called end has answered. */
export function acceptAnswer(party: Party, own: Ssid, theirs: Ssid): Agreement {
  if (theirs.code !== party.remoteId)
    throw ending('login_refused', '03', `the partner says it is ${theirs.code}, not ${party.remoteId}`)
  checkPassword(party.security, theirs.password)
  if (theirs.credit > own.credit)
    throw ending('remote_refused', '10', `the partner answers with more credit than offered`)
  return settle(party, own, theirs)
}

function settle(party: Party, own: Ssid, theirs: Ssid): Agreement {
  const level = commonLevel(theirs.level)
  if (theirs.bufferSize < 128 || theirs.credit < 1)
    throw ending('remote_refused', '10', `buffer size ${theirs.bufferSize} and credit ${theirs.credit}`)
  const canSend = own.ways !== 'R' && theirs.ways !== 'S'
  const canReceive = own.ways !== 'S' && theirs.ways !== 'R'
  if (!canSend && !canReceive)
    throw ending('remote_refused', '10', `both ends only ${own.ways === 'S' ? 'send' : 'receive'}`)
  if (own.authentication !== theirs.authentication || (own.authentication === 'Y' && level < 5))
    throw ending(
      'insecure_session',
      '12',
      `secure authentication: here ${own.authentication}, there ${theirs.authentication}`,
    )
  return {
    level,
    bufferSize: Math.min(own.bufferSize, theirs.bufferSize),
    credit: Math.min(own.credit, theirs.credit),
    compression: party.compression && theirs.compression === 'Y',
    restart: own.restart === 'Y' && theirs.restart === 'Y',
    authentication: own.authentication === 'Y',
    canSend,
    canReceive,
    wishes: own.user === WISHES && theirs.user === WISHES,
  }
}

/** The level that both ends speak, 2.0 being the highest here. */
export function commonLevel(theirs: number): Level {
  if (theirs >= 5) return 5
  if (theirs === 4) return 4
  if (theirs >= 2) return 2
  if (theirs === 1) return 1
  throw fault('06', 'protocol level 0')
}
