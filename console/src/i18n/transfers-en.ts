// Transfers of all channels, in English.

export const transfersEn = {
  title: 'Transfers',
  fileName: 'File name',
  fileNameHint: 'NOMINA* or part of a name',
  channels: 'Channel',
  channelsHint: 'Code, name…',
  partner: 'Partner',
  status: 'Status',
  direction: 'Direction',
  type: 'Started by',
  from: 'From',
  to: 'To',
  hash: 'SHA-256',
  hashHint: '64 digits 0-f',
  hashFault: 'A SHA-256 has 64 hexadecimal digits.',
  daysFault: 'The first day is after the last.',
  sort: 'Order',
  sorts: { NEWEST: 'Newest first', OLDEST: 'Oldest first' },
  csv: 'As CSV',
  found: (count: string, more: boolean) =>
    more ? `More than ${count} transfers` : count === '1' ? '1 transfer' : `${count} transfers`,
  none: 'No transfer fits',
  noneHelp: 'Use fewer words, other days, or clear the filters.',
  empty: 'There are no transfers yet',
  emptyHelp: 'What is sent and received on any channel shows up here.',
  stopped: (when: string) =>
    `The search went back to ${when} and stopped there: choose days before that to look further.`,
  when: 'When',
  files: 'Files',
  moreFiles: (count: string) => `and ${count} more`,
  size: 'Size',
  by: (who: string) => `by ${who}`,
}

export const waitingEn = {
  label: 'Waits for',
  until: (when: string) => `until ${when}`,
  reason: {
    CLOSED: 'The channel is switched off this way',
    HOURS: 'Outside its hours',
    PARTNER_CALL: 'The partner must call',
    PARTNER_DOWN: 'The partner cannot be reached; the next call',
    RETRY: 'The next attempt',
    RECEIPT: 'The partner’s receipt',
    TURN: 'A free place',
  },
  pause: {
    title: 'Automation waits',
    list: 'Automation that waits',
    until: (when: string, count: string) =>
      `Nothing is sent by itself until ${when}: the last ${count} automatic emissions failed.`,
    ends: 'It goes on at once when the files or the channel change, or after a retry or a reset.',
  },
}

export const transferActionsEn = {
  willGo: (count: string, size: string) =>
    count === '1' ? `1 file goes, ${size}:` : `${count} files go, ${size}:`,
  cancel: 'Cancel the transfer',
  resend: 'Send again',
  title: { cancel: 'Cancel this transfer?', resend: 'Send these files again?' },
  text: {
    cancel: 'Its connection is closed and half files are removed. It cannot be taken up again.',
    resend: 'A new transfer takes the same files, as they were sent. One that was moved goes back first.',
  },
  why: 'Why',
  no: 'Leave it',
  done: { cancel: 'The transfer was cancelled', resend: 'The files are sent again' },
  download: 'Download',
  resendOf: 'Sends again',
  original: 'the completed transfer',
}

export const severalEn = {
  group: 'Several at once',
  page: 'All on this page',
  all: 'Choose all that match',
  one: (code: string, when: string) => `Choose ${code}, ${when}`,
  chosen: (count: string) => `${count} chosen`,
  most: 'the newest; there may be more',
  none: 'Choose none',
  button: { retry: 'Retry the chosen', reset: 'Reset the chosen' },
  title: {
    retry: (count: string) =>
      count === '1' ? 'Retry 1 failed transfer?' : `Retry ${count} failed transfers?`,
    reset: (count: string) => (count === '1' ? 'Reset 1 channel?' : `Reset ${count} channels?`),
  },
  text: {
    retry:
      'One after the other. A channel retries its latest failure first and one at a time: what cannot be retried now is named afterwards, with the reason, and stays chosen.',
    reset:
      'All failures of these channels count as dealt with, also those that were not chosen. Their transfers that wait or move are cancelled, connections closed and half files removed. What was cancelled cannot be taken up again.',
  },
  under: (done: string, all: string) => `${done} of ${all} done…`,
  stop: 'Stop',
  results: 'What became of each',
  did: {
    retry: (count: string) => (count === '1' ? '1 retry has started.' : `${count} retries have started.`),
    reset: (count: string) => (count === '1' ? '1 failure was reset.' : `${count} failures were reset.`),
  },
  rest: (count: string) => (count === '1' ? '1 was not done.' : `${count} were not done.`),
  untried: 'Not tried: it was stopped before.',
  impossible: {
    HANDLED: 'Not needed: it was retried or reset already.',
    SUPERSEDED: 'Not yet: a later failure of its channel must be retried or reset first.',
    PARTNER: 'Only the partner can send it again.',
    BUSY: 'Not yet: another transfer of its channel is under way. Retry it when that has ended.',
    CLOSED: 'The channel is closed that way.',
  },
}
