// How a session begins (RFC 5024, 4.2): greeting, names and passwords, what both ends can do, and, where both ask for
// it, challenges in both directions. `ready` is called once, when the caller may speak and the called end listens.
import type { Admission, Caller, Proof, SessionHost } from '../../transport.ts'
import { messageOf, NodeError } from '../../../../errors.ts'
import { asksPassword, Authentication, isPassword, samePassword } from './auth.ts'
import type { Command, CommandOf } from './commands.ts'
import type { Conversation } from '../conversation.ts'
import { acceptAnswer, answerCaller, commonLevel, proposal } from './negotiation.ts'
import { ending } from './reasons.ts'
import type { Oftp2Settings } from '../../../../contract/contact-settings.ts'
import type { Party, SessionCrypto } from '../settings.ts'

/** Both ends: asks for, makes, answers and checks challenges. */
class Challenges {
  readonly #conversation: Conversation
  readonly #crypto: SessionCrypto
  readonly #calling: boolean
  readonly #ready: () => void
  #authentication: Authentication | undefined
  #proven: string | undefined

  constructor(conversation: Conversation, crypto: SessionCrypto, calling: boolean, ready: () => void) {
    this.#conversation = conversation
    this.#crypto = crypto
    this.#calling = calling
    this.#ready = ready
  }

  prepare(party: Party): void {
    if (party.security.authentication === 'CERTIFICATE')
      this.#authentication = new Authentication(this.#crypto, party.security)
  }

  /** The certificate that the partner has proven to own. */
  get proven(): string | undefined {
    return this.#proven
  }

  get #own(): Authentication {
    if (this.#authentication === undefined)
      throw ending('insecure_session', '12', 'no keys to authenticate with')
    return this.#authentication
  }

  async challenge(): Promise<void> {
    const challenge = await this.#own.challenge()
    if (!this.#conversation.isOver) this.#conversation.say({ kind: 'AUCH', challenge })
  }

  respond(command: Command): void {
    if (command.kind === 'AUCH') this.#conversation.background(this.#answer(command.challenge))
  }

  async #answer(challenge: Uint8Array): Promise<void> {
    const response = await this.#own.respond(challenge)
    if (this.#conversation.isOver) return
    this.#conversation.say({ kind: 'AURP', response }, this.#calling ? 'AURP' : 'AURP_LAST')
    if (!this.#calling) this.#ready()
  }

  check(command: Command): void {
    if (command.kind !== 'AURP') return
    this.#own.check(command.response)
    this.#proven = this.#own.partner
    if (!this.#calling) return this.#conversation.say({ kind: 'SECD' })
    this.#conversation.become('IDLESP')
    this.#ready()
  }
}

export interface Handshake {
  greet(command: Command): void
  agree(command: Command): void
  admit(command: Command): void
  challenge(command: Command): void
  respond(command: Command): void
  checkResponse(command: Command): void
}

const unused = (): void => undefined

export function callingHandshake(
  conversation: Conversation,
  crypto: SessionCrypto,
  party: Party,
  ready: () => void,
): Handshake {
  const challenges = new Challenges(conversation, crypto, true, ready)
  challenges.prepare(party)
  conversation.party = party
  const own = proposal(party)
  return {
    greet: () => conversation.say(own),
    agree(command) {
      if (command.kind !== 'SSID') return
      conversation.level = commonLevel(command.level)
      conversation.agreement = acceptAnswer(party, own, command)
      conversation.trust()
      if (conversation.agreement.authentication) return conversation.say({ kind: 'SECD' })
      conversation.become('IDLESP')
      ready()
    },
    admit: unused,
    challenge: () => conversation.background(challenges.challenge()),
    respond: (command) => challenges.respond(command),
    checkResponse: (command) => challenges.check(command),
  }
}

type Called = {
  host: SessionHost
  crypto: SessionCrypto
  address: string
  encrypted: boolean
  shown: NonNullable<Proof['shown']>
}

export function calledHandshake(conversation: Conversation, called: Called, ready: () => void): Handshake {
  const challenges = new Challenges(conversation, called.crypto, false, ready)
  let known: Caller | undefined
  const turnAway = (error: unknown): never => {
    if (known) conversation.background(called.host.refused(known, messageOf(error)))
    throw error
  }
  return {
    greet: unused,
    agree: unused,
    admit(command) {
      if (command.kind !== 'SSID') return
      conversation.level = commonLevel(command.level)
      const { address, encrypted, shown } = called
      const proof: Proof = {
        address,
        encrypted,
        // The identification alone is no secret: what is asked of a caller, its channels ask.
        signedIn: true,
        shown,
        knows: (password) => samePassword(password, command.password),
        owns: (certificate) => certificate !== undefined && certificate === challenges.proven,
      }
      const challenged = command.authentication === 'Y'
      const caller: Caller = { protocol: 'oftp2', id: command.code, proof, challenges: challenged }
      known = caller
      conversation.background(admit(conversation, called, { caller, ssid: command, challenges, ready }))
    },
    // It is not made for a certificate that has ended.
    challenge: () => conversation.background(challenges.challenge().catch(turnAway)),
    respond: (command) => challenges.respond(command),
    checkResponse(command) {
      try {
        challenges.check(command)
      } catch (error) {
        turnAway(error)
      }
    },
  }
}

/** Wrong names and wrong passwords count, at all doors together; past the limits nothing is looked at. */
async function signIn(
  { host }: Called,
  caller: Caller,
  { password }: CommandOf<'SSID'>,
): Promise<Admission<Oftp2Settings>> {
  let party: Admission<Oftp2Settings>
  try {
    party = await host.admit<Oftp2Settings>(caller)
  } catch (error) {
    const isGuess = error instanceof NodeError && error.code === 'login_refused'
    if (isGuess) await host.attempt(caller, () => Promise.resolve(undefined))
    throw error
  }
  const { security } = party
  // A wrong one is told to the caller where the answer is made. One that opens nothing counts even where the caller gets in
  // without: it may be a guess at another channel's.
  if (asksPassword(security) || (party.guessable && password !== ''))
    await host.attempt(caller, () => Promise.resolve(isPassword(security, password) || undefined))
  return party
}

type Admitting = { caller: Caller; ssid: CommandOf<'SSID'>; challenges: Challenges; ready: () => void }

async function admit(
  conversation: Conversation,
  called: Called,
  { caller, ssid, challenges, ready }: Admitting,
): Promise<void> {
  try {
    const party = await signIn(called, caller, ssid)
    if (conversation.isOver) return
    if (party.security.encrypted && !called.encrypted)
      throw ending('insecure_session', '10', 'the session must be encrypted (TLS)')
    const { answer, agreement } = answerCaller(party, ssid)
    challenges.prepare(party)
    conversation.party = party
    conversation.agreement = agreement
    conversation.trust()
    conversation.say(answer, agreement.authentication ? 'SSID_AUTH' : 'SSID')
    if (!agreement.authentication) ready()
  } catch (error) {
    conversation.abort(error)
    await called.host.refused(caller, messageOf(error))
  }
}
