// Sample files: invented people, accounts and amounts.

import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

const NAMES = [
  'GARCIA LOPEZ MARIA',
  'MARTIN SANZ PEDRO',
  'IBARRA ETXEBERRIA ANE',
  'FERRER PUIG JORDI',
  'CASTRO VARELA UXIA',
  'MORENO DIAZ LUCIA',
]

export function put(path: string, content: string | Buffer): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}

export function payrollFile(rows: number): string {
  const lines = Array.from({ length: rows }, (_, index) => {
    const name = NAMES[index % NAMES.length] ?? ''
    const amount = (150_000 + ((index * 7919) % 90_000)) / 100
    return `NOM;${String(index + 1).padStart(6, '0')};${name};ES${String(index * 37).padStart(22, '0')};${amount.toFixed(2)};EUR`
  })
  return `${lines.join('\n')}\n`
}

export function paymentsFile(id: string, payments: number): string {
  const items = Array.from(
    { length: payments },
    (_, index) =>
      `  <payment id="${id}-${index + 1}"><to>ES${String(index * 91).padStart(22, '0')}</to><amount currency="EUR">${(index * 13 + 42.5).toFixed(2)}</amount></payment>`,
  )
  return `<?xml version="1.0" encoding="UTF-8"?>\n<payments id="${id}">\n${items.join('\n')}\n</payments>\n`
}

export function statementFile(at: Date): string {
  const lines = [
    `HEADER ${at.toISOString()}`,
    ...Array.from(
      { length: 40 },
      (_, index) => `MOV ${String(index + 1).padStart(5, '0')} ${((index * 317) % 1000).toFixed(2)} EUR`,
    ),
    'TRAILER 40',
  ]
  return `${lines.join('\n')}\n`
}

export function fixedLines(count: number, length: number): string {
  return (
    Array.from({ length: count }, (_, index) =>
      `LST${String(index).padStart(7, '0')}`.padEnd(length, ' '),
    ).join('\n') + '\n'
  )
}

/** Bytes that compress badly, as those of scanned documents. */
export function archiveFile(mib: number): Buffer {
  return randomBytes(mib * 1024 * 1024)
}
