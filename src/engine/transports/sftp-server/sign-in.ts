// Signs a caller in: asks the engine who it is, then checks a password or the signature of an authorized key. Unknown
// account, refused caller and wrong password look and last the same from outside.

import { createHash, timingSafeEqual } from 'node:crypto'

import type { AuthContext, ParsedKey, PublicKeyAuthContext } from 'ssh2'

import { isPasswordHash, verifyPassword } from '../../../accounts/password.ts'
import type { AccessSettings } from '../../../contract/contact-settings.ts'
import { messageOf, NodeError } from '../../../errors.ts'
import { readAuthorizedKey } from '../ssh/keys.ts'
import type { Admission, Caller, Proof, Reached, SessionHost } from '../transport.ts'

const FIRST_DELAY_MS = 200
const LONGEST_DELAY_MS = 3000
/** Questions of all kinds on one line, those that cost no try included. */
const MOST_REQUESTS = 50

const METHODS: ('publickey' | 'password' | 'keyboard-interactive')[] = [
  'publickey',
  'password',
  'keyboard-interactive',
]

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

function samePassword(given: string, expected: string | undefined): boolean {
  const same = timingSafeEqual(sha256(given), sha256(expected ?? ''))
  return same && expected !== undefined && expected !== ''
}

/** A contact's own is kept as a hash; while older nodes are at work, as it is. Either takes as long, and so does none. */
async function fitsContact(given: string, expected: string | undefined): Promise<boolean> {
  const isHash = expected !== undefined && isPasswordHash(expected)
  const fits = await verifyPassword(given, isHash ? expected : undefined)
  return isHash ? fits : samePassword(given, expected)
}

function isAuthorized(context: PublicKeyAuthContext, keys: readonly string[]): ParsedKey | undefined {
  for (const line of keys) {
    const key = readAuthorizedKey(line)
    if (key === undefined) continue
    const blob = key.getPublicSSH()
    if (blob.length === context.key.data.length && timingSafeEqual(blob, context.key.data)) return key
  }
  return undefined
}

function blobOf(line: string): Buffer {
  return readAuthorizedKey(line)?.getPublicSSH() ?? Buffer.alloc(0)
}

/** RSA without a named hash is SHA-1, which is off. */
function signatureHolds(context: PublicKeyAuthContext, key: ParsedKey): boolean {
  const hash = 'hashAlgo' in context && typeof context.hashAlgo === 'string' ? context.hashAlgo : undefined
  if (key.type === 'ssh-rsa' && hash === undefined) return false
  if (context.signature === undefined || context.blob === undefined) return false
  // The library answers with an Error where the key and the signature do not fit at all.
  const verified: unknown = key.verify(context.blob, context.signature, hash)
  return verified === true
}

/** A caller that is in: for whom channels exist. */
export type SignedIn = { admission: Admission<AccessSettings>; reached: Reached }

/** What the caller has shown in the request that is being answered; only the one that is accepted counts later. */
class ShownProof implements Proof {
  readonly address: string
  readonly encrypted = true
  signedIn = false
  password: string | undefined
  hasKey = false
  /** What of the contact's entry it fitted: the password as it is kept, or the key. */
  fitted: string | Buffer | undefined

  constructor(address: string) {
    this.address = address
  }

  knows(password: string): boolean {
    return this.password !== undefined && samePassword(this.password, password)
  }

  /** An authorized key stands for the certificate: SSH has no other. */
  owns(): boolean {
    return this.hasKey
  }

  /** A channel's own password is compared with the channel; all else with what the contact has now. */
  opens(entry: AccessSettings | undefined): boolean {
    if (entry === undefined || !this.signedIn) return entry !== undefined
    const { fitted } = this
    return typeof fitted === 'string'
      ? entry.password === fitted
      : (entry.authorizedKeys ?? []).some((line) => fitted?.equals(blobOf(line)))
  }

  show({ signedIn = false, password, hasKey = false, fitted }: Partial<ShownProof>): void {
    Object.assign(this, { signedIn, password, hasKey, fitted })
  }
}

export class SignIn {
  readonly #host: SessionHost
  readonly #triesLeft: { count: number }
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #proof: ShownProof
  #admissions = new Map<string, Promise<Admission<AccessSettings>>>()
  #failures = 0
  #requests = 0
  #lastFailure: { caller: Caller; reason: string } | undefined

  constructor(parts: { host: SessionHost; address: string; tries: number }) {
    this.#host = parts.host
    this.#proof = new ShownProof(parts.address)
    this.#triesLeft = { count: parts.tries }
  }

  /** Answers one request. Resolves to the admission when it was the right one, `over` when there are no tries left. */
  async answer(context: AuthContext): Promise<SignedIn | 'refused' | 'over'> {
    if (++this.#requests > MOST_REQUESTS) {
      context.reject([])
      return 'over'
    }
    if (context.method === 'none' || context.method === 'hostbased') {
      context.reject(METHODS)
      return 'refused'
    }
    const admission = await this.#admit(context.username)
    const outcome = await this.#check(context, admission)
    if (outcome === 'asked') return 'refused'
    const reached = outcome === 'right' && admission && (await this.#host.reached(admission.reach))
    if (admission && reached && reached.applications.length > 0) {
      this.#lastFailure = undefined
      context.accept()
      return { admission, reached }
    }
    const isQuery = context.method === 'publickey' && context.signature === undefined
    this.#lastFailure ??= { caller: this.#caller(context.username), reason: `${context.method} not accepted` }
    if (!isQuery) await this.#slowDown()
    const over = --this.#triesLeft.count <= 0
    context.reject(METHODS)
    return over ? 'over' : 'refused'
  }

  /** Stops what still waits; tells the engine of a caller that tried and did not get in. */
  async finish(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
    const failure = this.#lastFailure
    this.#lastFailure = undefined
    if (failure !== undefined) await this.#host.refused(failure.caller, failure.reason)
  }

  #caller(id: string): Caller {
    return { protocol: 'sftp', id, proof: this.#proof }
  }

  async #admit(username: string): Promise<Admission<AccessSettings> | undefined> {
    let admission = this.#admissions.get(username)
    if (admission === undefined) {
      admission = this.#host.admit<AccessSettings>(this.#caller(username))
      this.#admissions = new Map([[username, admission]])
    }
    try {
      return await admission
    } catch (error) {
      this.#lastFailure ??= { caller: this.#caller(username), reason: messageOf(error) }
      return undefined
    }
  }

  async #check(
    context: AuthContext,
    admission: Admission<AccessSettings> | undefined,
  ): Promise<'right' | 'wrong' | 'asked'> {
    const settings = admission?.settings
    this.#proof.show({})
    if (context.method === 'publickey') {
      const key = isAuthorized(context, settings?.authorizedKeys ?? [])
      if (key === undefined) return 'wrong'
      if (context.signature !== undefined) {
        const holds = signatureHolds(context, key)
        this.#proof.show({ signedIn: holds, hasKey: holds, fitted: key.getPublicSSH() })
        return holds ? 'right' : 'wrong'
      }
      context.accept()
      return 'asked'
    }
    const given = await passwordIn(context)
    if (given === undefined) return 'wrong'
    return (await this.#isRight(context.username, given, admission)) ? 'right' : 'wrong'
  }

  /**
   * Right: the contact's own password, or that of a channel, which then is all there is for this session. Keys cannot be
   * guessed, so only passwords are counted: nobody who signs in with a key can be locked out.
   */
  async #isRight(
    username: string,
    password: string,
    admission: Admission<AccessSettings> | undefined,
  ): Promise<boolean> {
    const caller = this.#caller(username)
    const check = async () => {
      const signedIn = await fitsContact(password, admission?.settings.password)
      this.#proof.show({ signedIn, password, fitted: admission?.settings.password })
      const reached = admission && (await this.#host.reached(admission.reach))
      return (reached && reached.applications.length > 0) || undefined
    }
    try {
      return (await this.#host.attempt(caller, check)) === true
    } catch (error) {
      if (!(error instanceof NodeError) || error.code !== 'too_many') throw error
      this.#lastFailure = { caller, reason: error.message }
      return false
    }
  }

  async #slowDown(): Promise<void> {
    const delayMs = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** this.#failures++)
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        this.#timers.delete(timer)
        resolve()
      }, delayMs)
      this.#timers.add(timer)
    })
  }
}

/** Undefined where there is none: a malformed request, or a question the client gave up on. */
async function passwordIn(context: AuthContext): Promise<string | undefined> {
  if (context.method === 'password')
    return typeof context.password === 'string' ? context.password : undefined
  if (context.method !== 'keyboard-interactive') return undefined
  return new Promise((resolve) => {
    // An aborted question answers with an Error where the answers would be.
    context.prompt([{ prompt: 'Password: ', echo: false }], (answers: unknown) => {
      const [first] = Array.isArray(answers) ? (answers as unknown[]) : []
      resolve(typeof first === 'string' ? first : undefined)
    })
  })
}
