// The certificates that callers of this node are shown, by HTTP and by the OFTP2 listener over TLS: where they lie, and
// what names them.

import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config.ts'

export type ListenerCertificate = {
  /** The setting, or the file that the node made for itself. */
  use: string
  path: string
  /** Undefined: it stands in the same file. */
  keyPath?: string
}

const MADE = 'oftp2-tls.pem'

/** Where the OFTP2 listener keeps the certificate that it makes at its first start, if no setting names one. */
export function madeCertificatePath(dataDir: string): string {
  return join(dataDir, MADE)
}

/** The one that is made at the first start may not be there yet. */
export function listenerCertificates({
  tls,
  oftp2Tls,
  oftp2TlsPort,
  dataDir,
}: Pick<Config, 'tls' | 'oftp2Tls' | 'oftp2TlsPort' | 'dataDir'>): ListenerCertificate[] {
  const made = madeCertificatePath(dataDir)
  const showsMade = oftp2TlsPort !== undefined && !tls && !oftp2Tls && existsSync(made)
  return [
    ...(tls ? [{ use: 'ESCLUSA_TLS_CERT', path: tls.certPath, keyPath: tls.keyPath }] : []),
    ...(oftp2Tls
      ? [{ use: 'ESCLUSA_OFTP2_TLS_CERT', path: oftp2Tls.certPath, keyPath: oftp2Tls.keyPath }]
      : []),
    ...(showsMade ? [{ use: MADE, path: made }] : []),
  ]
}

/** One whose file is just being replaced is left out, and read the next time. */
export async function readListenerCertificates(
  config: Parameters<typeof listenerCertificates>[0],
): Promise<{ use: string; pem: string }[]> {
  const found = listenerCertificates(config).map(async ({ use, path }) => {
    const pem = await readFile(path, 'utf8').catch(() => undefined)
    return pem === undefined ? [] : [{ use, pem }]
  })
  return (await Promise.all(found)).flat()
}
