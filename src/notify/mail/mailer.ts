// Sends mail through the server that the settings name. The library is loaded for the first letter.

import { cleanWords, messageOf } from '../../errors.ts'

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

export type Mailer = { send(letter: Letter): Promise<MailAnswer>; close(): void }

const TIME_LIMIT_MS = 15_000

/**
 * `smtp://` goes on to TLS where the server offers it, and insists on it where a password would be sent; `smtps://`
 * begins with it. Login and port stand in the URL, further options of the library behind its `?`.
 */
export function makeMailer(url: string, from: string): Mailer {
  let transport: ReturnType<typeof makeTransport> | undefined
  return {
    send: async ({ to, ...letter }) => {
      try {
        const mail = await (transport ??= makeTransport(url))
        const sent = await mail.sendMail({ from, to: [...to], ...letter })
        // It is on its way to the others: sent again, it would reach them twice.
        const refused = refusedOf(sent.rejected, sent.rejectedErrors ?? [])
        return { ok: true, status: codeOf(sent.response), answer: cleanWords(sent.response), ...refused }
      } catch (thrown) {
        const { responseCode, response } = thrown as { responseCode?: number; response?: string }
        return {
          ok: false,
          error: messageOf(thrown),
          ...(responseCode !== undefined && { status: responseCode }),
          ...(response !== undefined && { answer: cleanWords(response) }),
        }
      }
    },
    close: () =>
      void transport?.then(
        (made) => made.close(),
        () => {},
      ),
  }
}

async function makeTransport(url: string) {
  const { createTransport } = (await import('nodemailer')).default
  const { password, searchParams } = new URL(url)
  return createTransport({
    url,
    ...(password !== '' && !searchParams.has('requireTLS') && { requireTLS: true }),
    pool: true,
    maxConnections: 2,
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
