// The commands about events, expectations and calendars.

import type { Command } from 'commander'
import { count, day } from '../arguments.ts'

type Form = (parent: Command, form: string, description: string) => Command

export function addNotificationCommands(program: Command, command: Form): void {
  command(program, 'events', 'list events, newest first')
    .option('--type <type>', 'such as transfer.failed or expectation.*')
    .option('--channel <code>', 'only of this channel')
    .option('--after <id>', 'those after this one, oldest first')
    .option('--size <n>', 'how many', count, 50)
    .action(async (options) => (await import('./events.ts')).events(options))
  addExpectationCommands(program, command)
  const notify = program.command('notify').description('who is told of events, and how that goes')
  command(notify, 'list', 'list subscriptions').action(async (options) =>
    (await import('./notify.ts')).listSubscriptions(options),
  )
  command(
    notify,
    'test <subscription>',
    'send a test to a subscription; exit 1 if it does not arrive',
  ).action(async (id: string, options) => (await import('./notify.ts')).testSubscription(id, options))
  command(notify, 'enable <subscription>', 'switch a subscription on again').action(
    async (id: string, options) => (await import('./notify.ts')).enableSubscription(id, options),
  )
  command(notify, 'deliveries', 'list deliveries, newest event first')
    .option('--subscription <id>', 'only of this subscription')
    .option('--state <state>', 'PENDING, DELIVERED or FAILED')
    .option('--size <n>', 'how many', count, 50)
    .action(async (options) => (await import('./notify.ts')).deliveries(options))
  command(notify, 'resend <subscription> <event>', 'deliver an event once more').action(
    async (id: string, event: string, options) => (await import('./notify.ts')).resend(id, event, options),
  )
}

function addExpectationCommands(program: Command, command: Form): void {
  const expectations = command(
    program,
    'expectations',
    'list what is expected on a day, and what became of it',
  )
    .option('--day <day>', 'yyyy-MM-dd; today without it', day)
    .option('--state <state>', 'such as missed')
    .option('--channel <code>', 'only of this channel')
    .action(async (options) => (await import('./expectations.ts')).expectations(options))
  command(expectations, 'acknowledge <expectation> <day>', 'take note of a day')
    .option('--comment <text>', 'what there is to say')
    .action(async (id: string, date: string, options) =>
      (await import('./expectations.ts')).acknowledge(id, date, options),
    )
  const calendar = program.command('calendar').description('which days are working days')
  command(calendar, 'list', 'list calendars').action(async (options) =>
    (await import('./calendar.ts')).listCalendars(options),
  )
  command(
    calendar,
    'show <id>',
    'the days of a calendar, the windows of an expectation, or the turns of a channel’s cron in a year',
  )
    .option('--year <year>', 'which year; this one without it', count)
    .action(async (id: string, options) => (await import('./calendar.ts')).showYear(id, options))
}
