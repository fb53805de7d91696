// Answers to a client of the SFTP server: building them, and what each error of the engine is to a client. A partner
// reads the meaning of a code, never a message, which may name local paths.

import { ERROR_CODES, NodeError } from '../../../errors.ts'
import type { ErrorCode } from '../../../errors.ts'
import { MODE, STATUS, TYPE, packet } from '../ssh/sftp-packet.ts'
import type { Attrs, Field } from '../ssh/sftp-packet.ts'

export const FOLDER_ATTRS: Attrs = { permissions: MODE.FOLDER | 0o755 }

export function fileAttrs(look: { size: number; mtime: number }, writable: boolean): Attrs {
  return { size: look.size, permissions: MODE.FILE | (writable ? 0o600 : 0o400), mtime: look.mtime }
}

const STATUS_OF: Partial<Record<ErrorCode, number>> = {
  not_found: STATUS.NO_SUCH_FILE,
  file_missing: STATUS.NO_SUCH_FILE,
  forbidden: STATUS.PERMISSION_DENIED,
  no_rights: STATUS.PERMISSION_DENIED,
  file_refused: STATUS.PERMISSION_DENIED,
}

/** Where the general meaning of a code speaks of the HTTP interface. */
const MEANS: Partial<Record<ErrorCode, string>> = {
  not_found: 'There is no such file or folder, or no file can have that name here.',
  forbidden: 'That is not allowed here.',
  conflict: 'The file or its name is in use, or that cannot be done with it now.',
  unavailable: 'The server cannot do that now; try again later.',
  too_many: 'Too many files and folders are open at once.',
  internal: 'A fault of the server.',
}

export function statusPacket(id: number, code: number, words = ''): Buffer {
  return packet(TYPE.STATUS, id, code, words, 'en')
}

export function errorPacket(id: number, thrown: unknown): Buffer {
  const code = thrown instanceof NodeError ? thrown.code : 'internal'
  return statusPacket(id, STATUS_OF[code] ?? STATUS.FAILURE, MEANS[code] ?? ERROR_CODES[code].means)
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** The line `ls -l` would print; some clients show it, some even read it. */
function longName(name: string, attrs: Attrs): string {
  const folder = ((attrs.permissions ?? 0) & MODE.TYPE) === MODE.FOLDER
  const bits = (attrs.permissions ?? 0) & 0o777
  const rights = [6, 3, 0].map((shift) =>
    ['r', 'w', 'x'].map((letter, at) => ((bits >> shift) & (4 >> at) ? letter : '-')).join(''),
  )
  const moment = new Date((attrs.mtime ?? 0) * 1000)
  const day = `${MONTHS[moment.getUTCMonth()]} ${String(moment.getUTCDate()).padStart(2)}`
  const size = String(attrs.size ?? 0).padStart(12)
  return `${folder ? 'd' : '-'}${rights.join('')} 1 partner partner ${size} ${day}  ${moment.getUTCFullYear()} ${name}`
}

export function namePacket(id: number, entries: readonly { name: string; attrs: Attrs }[]): Buffer {
  const fields: Field[] = [entries.length]
  for (const { name, attrs } of entries) fields.push(name, longName(name, attrs), { attrs })
  return packet(TYPE.NAME, id, ...fields)
}
