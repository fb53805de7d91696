// Sends mail through the server that the settings name. The library is loaded for the first letter.

import { cleanWords, messageOf } from '../../errors.ts'
import { untilAborted } from '../until-aborted.ts'

export type Letter = {
  to: readonly string[]
  subject: string
  text: string
  html: string
  /** Names the mail: sent again after a crash it has the same. */
  messageId: string
}

/** `error` beside `ok`: some of the addresses were refused. */
export type MailAnswer = { ok: boolean; status?: number; answer?: string; error?: string }

/** A mail that the signal cuts off throws. */
export type Mailer = { send(letter: Letter, signal: AbortSignal): Promise<MailAnswer>; close(): void }

const TIME_LIMIT_MS = 15_000
/** For the whole mail: a server that goes on saying something is never silent. */
const MAIL_LIMIT_MS = 120_000
const AT_ONCE = 2

/** One connection, kept open and used again. The library can end it, but not one mail of several that go by it. */
type Place = { transport?: ReturnType<typeof makeTransport> | undefined }

/**
 * `smtp://` goes on to TLS where the server offers it, and insists on it where a password would be sent; `smtps://`
 * begins with it. Login and port stand in the URL, further options of the library behind its `?`.
 */
export function makeMailer(url: string, from: string, limitMs = MAIL_LIMIT_MS): Mailer {
  const free = Array.from({ length: AT_ONCE }, (): Place => ({}))
  const waiting: ((place: Place) => void)[] = []
  const places = [...free]
  async function inPlace<T>(work: (place: Place) => Promise<T>): Promise<T> {
    const place = free.pop() ?? (await new Promise<Place>((resolve) => waiting.push(resolve)))
    try {
      return await work(place)
    } finally {
      const next = waiting.shift()
      if (next) next(place)
      else free.push(place)
    }
  }
  async function sendBy(place: Place, { to, ...letter }: Letter, cut: AbortSignal) {
    const signal = AbortSignal.any([cut, AbortSignal.timeout(limitMs)])
    try {
      signal.throwIfAborted()
      const mail = await (place.transport ??= makeTransport(url))
      return await untilAborted(signal, mail.sendMail({ from, to: [...to], ...letter }))
    } catch (thrown) {
      if (!signal.aborted) throw thrown
      close(place, { force: true })
      cut.throwIfAborted()
      throw new Error(`the mail server has not taken the mail within ${limitMs / 1000} s`, { cause: thrown })
    }
  }
  return {
    send: async (letter, signal) => {
      try {
        const sent = await untilAborted(
          signal,
          inPlace((place) => sendBy(place, letter, signal)),
        )
        // It is on its way to the others: sent again, it would reach them twice.
        const refused = refusedOf(sent.rejected, sent.rejectedErrors ?? [])
        return { ok: true, status: codeOf(sent.response), answer: cleanWords(sent.response), ...refused }
      } catch (thrown) {
        signal.throwIfAborted()
        const { responseCode, response } = thrown as { responseCode?: number; response?: string }
        return {
          ok: false,
          error: messageOf(thrown),
          ...(responseCode !== undefined && { status: responseCode }),
          ...(response !== undefined && { answer: cleanWords(response) }),
        }
      }
    },
    close: () => {
      for (const place of places) close(place)
    },
  }
}

/** By force: in the middle of a mail too. */
function close(place: Place, { force }: { force: boolean } = { force: false }): void {
  const { transport } = place
  place.transport = undefined
  transport?.then(
    (made) => made.transporter.close?.({ force }),
    () => {},
  )
}

async function makeTransport(url: string) {
  const { createTransport } = (await import('nodemailer')).default
  const { password, searchParams } = new URL(url)
  return createTransport({
    url,
    ...(password !== '' && !searchParams.has('requireTLS') && { requireTLS: true }),
    pool: true,
    maxConnections: 1,
    connectionTimeout: TIME_LIMIT_MS,
    greetingTimeout: TIME_LIMIT_MS,
    socketTimeout: 2 * TIME_LIMIT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
}

function refusedOf(
  rejected: readonly (string | { address: string })[],
  errors: readonly { response?: string | undefined }[],
): { error?: string } {
  if (rejected.length === 0) return {}
  const each = rejected.map((one, nth) => {
    const why = errors[nth]?.response
    return `${typeof one === 'string' ? one : one.address}${why === undefined ? '' : ` (${cleanWords(why)})`}`
  })
  return { error: `the mail server refused ${each.join(', ')}` }
}

function codeOf(response: string): number {
  return Number(/^\d{3}/.exec(response)?.[0] ?? 250)
}
