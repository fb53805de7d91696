// Login, both forms. Unknown user, wrong password and disabled user get the same answer after the same time. Only
// failures are limited (accounts/limiter.ts).

import { newest } from '../../domain/newest.ts'
import type { FastifyRequest } from 'fastify'
import { randomBytes } from 'node:crypto'
import { verifyPassword } from '../../accounts/password.ts'
import { AUTHS, V1_AUTHS } from '../../contract/user.ts'
import type { Auth } from '../../contract/user.ts'
import { showExpiry } from '../../domain/time.ts'
import { NodeError } from '../../errors.ts'
import { isUntouched } from '../../accounts/first-run.ts'
import { closeFirstRun, findAccount, findAccountByEmail } from '../../store/accounts.ts'
import type { Account } from '../../store/accounts.ts'
import { clientAddress } from '../client-address.ts'
import type { Context, Handler } from '../context.ts'

export const loginV1: Handler<'loginV1'> = async (context, { body, request }) => {
  const found = await findAccountByEmail(context.store.db, body.email)
  const attempt = {
    name: body.email,
    // Both forms share one count. Without a user the case counts as little as with one, or it would tell which exist.
    counted: found ? `user ${found.username}` : `mail ${body.email.toLowerCase()}`,
    password: body.password,
    address: clientAddress(request),
  }
  return answer(context, await checkPassword(context, found, attempt), V1_AUTHS, 'Bearer ')
}

export const loginV2: Handler<'loginV2'> = async (context, { body, request }) =>
  answer(context, await passwordLogin(context, body, request), AUTHS, '')

/** By username: the account, or 401. */
export async function passwordLogin(
  context: Context,
  { username, password }: { username: string; password: string },
  request: FastifyRequest,
): Promise<Account> {
  const found = await findAccount(context.store.db, username)
  const address = clientAddress(request)
  return checkPassword(context, found, { name: username, counted: `user ${username}`, password, address })
}

/** `name` as it was typed, `counted` as the limiter knows it. */
type Attempt = { name: string; counted: string; password: string; address: string }

async function checkPassword(
  context: Context,
  account: Account | undefined,
  attempt: Attempt,
): Promise<Account> {
  const who = { account: attempt.counted, address: attempt.address, known: account?.username }
  let passed: Account | undefined
  try {
    passed = await context.limiter.attempt(who, context.now, async () => {
      const right = await verifyPassword(attempt.password, account?.passwordHash)
      return right && !account?.disabled ? account : undefined
    })
  } catch (thrown) {
    if (isFirstOf(context, attempt.address))
      await noteLogin(context, attempt, account, 'too many failed logins')
    throw thrown
  }
  const why = account?.disabled ? 'the user is disabled' : 'the password is not right'
  await noteLogin(context, attempt, account, passed ? undefined : why)
  if (!passed) throw new NodeError('unauthorized', 'the user or the password is not right')
  if (isUntouched(passed)) await context.store.write(closeFirstRun)
  return passed
}

/** The trail names existing users only. Any other text may be a password typed into the wrong field. */
async function noteLogin(
  context: Context,
  { name, address }: Attempt,
  account: Account | undefined,
  refused: string | undefined,
): Promise<void> {
  const known = account && { kind: 'user' as const, name: account.username }
  const who = refused ? null : (account?.username ?? null)
  const why = known ? refused : `there is no such user (${context.audit.keys.fingerprint(name)})`
  await context.store.write((tx) =>
    context.audit.add(tx, { who, via: 'PASSWORD', address }, [
      {
        action: refused ? 'LOGIN_REFUSED' : 'LOGIN',
        outcome: refused ? 'REFUSED' : 'DONE',
        subject: known,
        note: why,
      },
    ]),
  )
}

const LIMITED_MS = 60_000
const limited = new WeakMap<Context, ReturnType<typeof newest<number>>>()

/** Past the limit, attempts are noted once a minute, so that guessing does not fill the trail. */
function isFirstOf(context: Context, address: string): boolean {
  const notedAt = limited.get(context) ?? newest<number>(10_000)
  limited.set(context, notedAt)
  const now = context.now()
  if (now - (notedAt.get(address) ?? 0) < LIMITED_MS) return false
  notedAt.set(address, now)
  return true
}

function answer<A extends Auth>(context: Context, account: Account, auths: readonly A[], prefix: string) {
  const { token, expiresAt } = context.tokens.make(account, context.now())
  const { name, lastName, secondLastName, email, role, language } = account
  return {
    token: prefix + token,
    refresh_token: prefix + randomBytes(48).toString('base64url'),
    expiration_token: showExpiry(expiresAt, context.zone),
    user: {
      name,
      lastName,
      secondLastName,
      email,
      role,
      language,
      auths: Object.fromEntries(auths.map((flag) => [flag, account.auths[flag]])) as Record<A, boolean>,
    },
  }
}
