// Events as a mail: one in full, or a summary with the first of many. Plain text and HTML say the same.

import type { EventType } from '../../contract/event-types.ts'
import type { MailLanguage } from '../../contract/subscription.ts'
import type { EventRecord } from '../../domain/event.ts'
import type { Zone } from '../../domain/time.ts'
import type { Letter } from './mailer.ts'
import { MAIL_WORDS } from './words.ts'
import type { MailWords } from './words.ts'

/** In full; the rest is counted. */
const SHOWN = 50

export type MailOptions = {
  language: MailLanguage
  zone: Zone
  publicUrl: string | undefined
  subscriptionId: string
}

type Item = { title: string; when: string; facts: [string, string][]; link: string | undefined }

export function composeMail(
  events: readonly EventRecord[],
  options: MailOptions,
): Pick<Letter, 'subject' | 'text' | 'html'> {
  const words = MAIL_WORDS[options.language]
  const items = events.slice(0, SHOWN).map((event) => itemOf(event, words, options))
  const subject = subjectOf(events, words)
  const more = events.length > SHOWN ? words.more(events.length - SHOWN) : undefined
  const footer = words.footer(options.subscriptionId)
  return {
    subject: `[Esclusa] ${subject}`,
    text: textOf(subject, items, more, footer, words),
    html: htmlOf(subject, items, more, footer, options.language, words),
  }
}

/** One event is named; of many the kinds are counted, the most frequent first. */
function subjectOf(events: readonly EventRecord[], words: MailWords): string {
  const [only, ...others] = events
  if (only && others.length === 0) return oneLine([titleOf(only.type, words), placeOf(only)].join(': '))
  const kinds = [...Map.groupBy(events, (event) => event.type)].sort(([, a], [, b]) => b.length - a.length)
  const counted = kinds.map(([type, some]) => `${some.length} ${words.types[type].many}`)
  return oneLine(
    `${words.summary(events.length)}: ${counted.slice(0, 4).join(', ')}${counted.length > 4 ? ' …' : ''}`,
  )
}

function titleOf(type: EventType, words: MailWords): string {
  return words.types[type].one
}

function placeOf({ channelCode, contactId, data }: EventRecord): string {
  const named = data as { expectation?: string; node?: string; subscription?: string }
  return named.expectation ?? channelCode ?? contactId ?? named.node ?? named.subscription ?? ''
}

/** A name may hold what would break a header. */
function oneLine(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, ' ').slice(0, 200)
}

function itemOf(event: EventRecord, words: MailWords, { zone, language, publicUrl }: MailOptions): Item {
  const data = event.data as Record<string, unknown>
  const text = (name: string) => (data[name] === undefined ? undefined : String(data[name]))
  const expected =
    data.atLeast === undefined ? undefined : words.came(Number(data.count), Number(data.atLeast))
  const facts: [string, string | undefined][] = [
    [words.expectation, text('expectation') && `${text('expectation')} (${expected ?? ''})`],
    [words.channel, event.channelCode ?? undefined],
    [words.partner, event.contactId ?? undefined],
    [words.file, text('fileName') ?? text('files')],
    [words.day, text('day')],
    [words.due, text('by') && showWhen(Date.parse(text('by') ?? ''), zone, language)],
    [words.reason, text('error') ?? text('reason')],
    [words.node, text('node')],
    [words.subscription, text('subscription')],
    [words.fingerprint, text('fingerprint')],
    [words.expires, text('expiresAt') && showWhen(Date.parse(text('expiresAt') ?? ''), zone, language)],
    [words.address, text('address')],
    [words.by, text('requestedBy') ?? text('detail') ?? text('account')],
  ]
  return {
    title: titleOf(event.type, words),
    when: showWhen(event.at, zone, language),
    facts: facts.flatMap(([name, value]): [string, string][] => (value ? [[name, value]] : [])),
    link: linkOf(event, publicUrl),
  }
}

function showWhen(at: number, zone: Zone, language: MailLanguage): string {
  const format = { dateStyle: 'medium', timeStyle: 'long', timeZone: zone.name } as const
  return new Intl.DateTimeFormat(language, format).format(at)
}

function linkOf({ channelCode, data, type }: EventRecord, publicUrl: string | undefined): string | undefined {
  if (publicUrl === undefined) return undefined
  const console = `${publicUrl.replace(/\/+$/, '')}/console`
  if (channelCode === null || type === 'channel.removed') return console
  const channel = `${console}/channels/${encodeURIComponent(channelCode)}`
  return 'transferId' in data ? `${channel}/transfers/${encodeURIComponent(data.transferId)}` : channel
}

function textOf(
  subject: string,
  items: readonly Item[],
  more: string | undefined,
  footer: string,
  words: MailWords,
): string {
  const blocks = items.map(({ title, when, facts, link }) =>
    [
      `${title} — ${when}`,
      ...facts.map(([name, value]) => `  ${name}: ${value}`),
      ...(link === undefined ? [] : [`  ${words.open}: ${link}`]),
    ].join('\n'),
  )
  return [subject, ...blocks, ...(more === undefined ? [] : [more]), `-- \n${footer}`].join('\n\n')
}

function htmlOf(
  subject: string,
  items: readonly Item[],
  more: string | undefined,
  footer: string,
  language: MailLanguage,
  words: MailWords,
): string {
  const row = ([name, value]: [string, string]) =>
    `<tr><th style="text-align:left;padding:2px 12px 2px 0;font-weight:normal;color:#555;vertical-align:top">${escape(name)}</th><td style="padding:2px 0">${escape(value)}</td></tr>`
  const block = ({ title, when, facts, link }: Item) => `<section style="margin:0 0 20px">
<h2 style="font-size:16px;margin:0 0 2px">${escape(title)}</h2>
<p style="margin:0 0 6px;color:#555">${escape(when)}</p>
<table style="border-collapse:collapse">${facts.map(row).join('')}</table>
${link === undefined ? '' : `<p style="margin:6px 0 0"><a href="${escape(link)}">${escape(words.open)}</a></p>`}
</section>`
  return `<!doctype html>
<html lang="${language}"><head><meta charset="utf-8"><title>${escape(subject)}</title></head>
<body style="font-family:system-ui,sans-serif;font-size:14px;color:#111;background:#fff;margin:24px">
<h1 style="font-size:18px;margin:0 0 16px">${escape(subject)}</h1>
${items.map(block).join('\n')}
${more === undefined ? '' : `<p>${escape(more)}</p>`}
<p style="color:#555;border-top:1px solid #ddd;padding-top:8px">${escape(footer)}</p>
</body></html>
`
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escape(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => ENTITIES[sign] ?? sign)
}
