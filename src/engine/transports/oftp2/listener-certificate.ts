// The certificate that the OFTP2 TLS listener shows: the files of ESCLUSA_OFTP2_TLS_CERT and _KEY where they are set, else
// those of HTTP, else one that is made once and kept.

import { keepFirst, textAt } from '../../../files/replace-text.ts'
import { pairInOne, watchPair } from '../../../files/tls-pair.ts'
import type { RenewedIdentity, TlsFiles, TlsIdentity } from '../../../files/tls-pair.ts'

export type CertificateSource = {
  /** By the settings of the listener, and of HTTP. */
  own: TlsFiles | undefined
  http: TlsFiles | undefined
  /** Where one that was made is kept, and how one is made: a private key and its certificate behind it. */
  keptPath: string
  make(): Promise<string>
  warn(message: string): void
}

export async function listenerCertificate({
  own,
  http,
  keptPath,
  make,
  warn,
}: CertificateSource): Promise<RenewedIdentity> {
  const files = own ?? http
  if (files === undefined) return { ...(await keptIdentity(keptPath, make)), renewed: () => undefined }
  const names = own
    ? 'ESCLUSA_OFTP2_TLS_CERT and ESCLUSA_OFTP2_TLS_KEY'
    : 'ESCLUSA_TLS_CERT and ESCLUSA_TLS_KEY'
  return watchPair(files, names, warn)
}

async function keptIdentity(path: string, make: () => Promise<string>): Promise<TlsIdentity> {
  return pairInOne(path, textAt(path) ?? keepFirst(path, await make()))
}
