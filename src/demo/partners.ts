// The partners of the demo's bank: invented companies and banks, with people to call. Two of them are reached over
// OFTP2 (the demo's other node plays both), two never answer, the others are folders on this machine.

import type { PlatformContact } from '../contract/administration/platform-file.ts'
import type { DemoParts } from './demo-parts.ts'

type Person = [name: string, lastName: string, occupation: string]

/** Nothing listens at its address. */
export const SILENT = 'lejano'
/** Its folder appears only after the first send to it has failed. */
export const LATE = 'levante'

/** Of a partner beside the bank, with its `in` and `out`. */
export function folderOf({ bank }: Pick<DemoParts, 'bank'>, id: string): string {
  return `${bank.folder}/files/partners/${id}`
}

export function partnersOf(parts: DemoParts): PlatformContact[] {
  const { partner, closedPort } = parts
  const beside = (id: string, name: string, os: string, people: Person[]): PlatformContact => ({
    ...described(id, name, people),
    os,
    protocol: 'folder',
    folder: { inbox: `${folderOf(parts, id)}/in`, outbox: `${folderOf(parts, id)}/out` },
  })
  return [
    called('acme', 'Acme SA', partner.oftp2TlsPort, [
      ['Eva', 'Soto', 'Treasury'],
      ['Jon', 'Arana', 'Systems'],
    ]),
    {
      ...called('deposito', 'Depósito Digital', partner.oftp2TlsPort, [['Nerea', 'Otero', 'Archive']]),
      // A thin line: small buffers, each of them answered, so that there is time to see a file move.
      oftp2: { id: 'O0013DEPOSITO', bufferSize: 1024, credit: 1 },
    },
    called(SILENT, 'Transportes Lejano', closedPort, [
      ['Bruno', 'Cano', 'Invoicing'],
      ['Olga', 'Prat', 'On call'],
    ]),
    called('tirreno', 'Banca Tirreno', closedPort, [['Chiara', 'Bassi', 'Payments desk']]),
    beside('norte', 'Cooperativa Norte', 'LINUX', [['Iker', 'Mendi', 'Operations']]),
    beside(LATE, 'Mutua Levante Seguros', 'WINDOWS', [
      ['Carme', 'Ribes', 'Receipts'],
      ['Vicent', 'Moll', 'Systems'],
    ]),
    beside('lago', 'Banque du Lac', 'AIX', [['Aurélie', 'Morel', 'Cash management']]),
    beside('hansa', 'Hansa Handelsbank', 'LINUX', [['Jürgen', 'Voss', 'Zahlungsverkehr']]),
    beside('cantabria', 'Energía de Cantabria', 'LINUX', [['Lucía', 'Bárcena', 'Billing']]),
  ]
}

/** A partner that is called over OFTP2 with TLS. */
export function called(id: string, name: string, port: number, people: Person[]): PlatformContact {
  return {
    ...described(id, name, people),
    version: '1.0',
    os: 'LINUX',
    remoteIPs: [{ id: `${id}-ip`, ipAddress: '127.0.0.1', port }],
    protocol: 'oftp2',
    oftp2: { id: `O0013${id.toUpperCase()}` },
  }
}

function described(id: string, name: string, people: Person[]): PlatformContact {
  return {
    id,
    name,
    remoteCodes: [{ id: `${id}-code`, code: id.toUpperCase(), name }],
    contactInfo: people.map(([first, lastName, ocupation], index) => ({
      id: `${id}-${index + 1}`,
      name: first,
      lastName,
      ocupation,
      email: `${plain(first)}.${plain(lastName)}@${id}.example`,
      phone: `+34 900 0${10 + id.length} 0${10 + index}`,
    })),
  }
}

function plain(text: string): string {
  return text
    .normalize('NFD')
    .replaceAll(/[^A-Za-z]/g, '')
    .toLowerCase()
}
