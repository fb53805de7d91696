// The files of the demo: what lies there at the start, and what appears while it runs.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Platform } from '../contract/administration/platform-file.ts'
import { archiveFile, fixedLines, payrollFile, paymentsFile, put, statementFile } from './files.ts'
import { LATE } from './partners.ts'
import type { DemoParts } from './demo-parts.ts'

/** Every folder of a platform, but for those of the partner whose folder comes late. */
export function makeFolders({ channels = [], contacts = [] }: Platform): void {
  for (const { directories = [] } of channels)
    for (const { filePath } of directories) if (filePath) mkdirSync(filePath, { recursive: true })
  for (const { id, folder } of contacts)
    if (folder && id !== LATE)
      for (const path of [folder.inbox, folder.outbox]) mkdirSync(path, { recursive: true })
}

export function writeSamples({ bank, partner, now }: DemoParts): void {
  const bankFile = (name: string, content: string | Buffer) => put(join(bank.folder, name), content)
  const partnerFile = (name: string, content: string) => put(join(partner.folder, name), content)
  bankFile('files/acme/nomina/out/nomina-noviembre.txt', payrollFile(50_000))
  bankFile('files/acme/nomina/out/atrasos.txt', payrollFile(120))
  bankFile('files/acme/pagos/out/pagos-1.xml', paymentsFile('P1', 5000))
  bankFile('files/acme/extracto/out/extracto-inicial.txt', statementFile(now))
  bankFile('files/deposito/archivo/out/documentos.tar', archiveFile(ARCHIVE_MIB))
  bankFile('files/lejano/cobros/out/cobros.txt', payrollFile(200))
  bankFile('files/tirreno/confirm/out/confirmaciones.xml', paymentsFile('C1', 300))
  bankFile('files/norte/cierre/out/cierre.txt', payrollFile(10))
  // 79 characters where 80 are agreed: what a refused file looks like.
  bankFile('files/norte/tarifas/out/tarifas.txt', fixedLines(10, 79))
  bankFile('files/partners/norte/out/lista-1.txt', fixedLines(500, 80))
  bankFile('files/levante/recibos/out/recibos.txt', payrollFile(900))
  bankFile('files/hansa/sepa/out/pacs.008.xml', paymentsFile('H1', 800))
  bankFile('files/cantabria/devolucion/out/devoluciones.xml', paymentsFile('D1', 60))
  partnerFile('files/banco/nomina/out/altas.txt', payrollFile(80))
  partnerFile('files/banco/extracto/out/extracto-acme.txt', statementFile(now))
}

const ARCHIVE_MIB = 24

/** Something small now and then: over OFTP2 and through folders, both ways, in turn. */
export function keepAlive({ bank, partner }: DemoParts): void {
  const at = new Date()
  const stamp = at.toISOString().slice(11, 19).replaceAll(':', '')
  const turns = [
    () => put(join(bank.folder, `files/acme/extracto/out/extracto-${stamp}.txt`), statementFile(at)),
    () =>
      put(join(bank.folder, `files/partners/cantabria/out/recibos-${stamp}.xml`), paymentsFile(stamp, 120)),
    () => put(join(partner.folder, `files/banco/extracto/out/acme-${stamp}.txt`), statementFile(at)),
    () => put(join(bank.folder, `files/lago/sepa/out/pain.001-${stamp}.xml`), paymentsFile(stamp, 40)),
  ]
  turns[at.getUTCMinutes() % turns.length]?.()
}
