// The certificate that the OFTP2 TLS listener shows: the files of ESCLUSA_OFTP2_TLS_CERT and _KEY where they are set, else
// those of HTTP, else one that is made once and kept.
//
// Files are looked at again at each call, so that whoever renews them need not restart the node. New files that make no
// pair (one may still be on its way) are not taken: the certificate before stays, and the log says why.

import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { messageOf, NodeError, systemCode } from '../../../errors.ts'

export type TlsIdentity = { key: string; cert: string }
export type ListenerCertificate = TlsIdentity & {
  /** The pair that is to be shown from now on, where it is another than before. */
  renewed(): TlsIdentity | undefined
}

type Files = { certPath: string; keyPath: string }

export type CertificateSource = {
  /** By the settings of the listener, and of HTTP. */
  own: Files | undefined
  http: Files | undefined
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
}: CertificateSource): Promise<ListenerCertificate> {
  const files = own ?? http
  if (files === undefined) return { ...(await keptIdentity(keptPath, make)), renewed: () => undefined }
  const names = own
    ? 'ESCLUSA_OFTP2_TLS_CERT and ESCLUSA_OFTP2_TLS_KEY'
    : 'ESCLUSA_TLS_CERT and ESCLUSA_TLS_KEY'
  let seen = stampOf(files)
  const first = readPair(files, (why) => new NodeError('bad_use', `settings ${names} ${why}`))
  return {
    ...first,
    renewed() {
      const now = stampOf(files)
      if (now === seen) return undefined
      seen = now
      try {
        return readPair(files, (why) => new NodeError('bad_use', why))
      } catch (thrown) {
        warn(`the files of ${names} have changed and ${messageOf(thrown)}: the certificate before stays`)
        return undefined
      }
    },
  }
}

/** Changes whenever either file does, also when a link leads elsewhere. */
function stampOf({ certPath, keyPath }: Files): string {
  return [certPath, keyPath]
    .map((path) => {
      const found = statSync(path, { throwIfNoEntry: false })
      return found ? `${found.ino} ${found.size} ${found.mtimeMs}` : 'none'
    })
    .join(', ')
}

function readPair({ certPath, keyPath }: Files, fail: (why: string) => NodeError): TlsIdentity {
  const read = (path: string) => {
    try {
      return readFileSync(path, 'utf8')
    } catch (thrown) {
      throw fail(`must name files that can be read; ${path}: ${systemCode(thrown) ?? messageOf(thrown)}`)
    }
  }
  const pair = { cert: read(certPath), key: read(keyPath) }
  try {
    if (new X509Certificate(pair.cert).checkPrivateKey(createPrivateKey(pair.key))) return pair
  } catch {
    // Told below: neither one that does not parse nor one of another key can be shown.
  }
  throw fail(`must be a PEM certificate and its private key; ${certPath} and ${keyPath} are not`)
}

async function keptIdentity(path: string, make: () => Promise<string>): Promise<TlsIdentity> {
  const pem = await keptOr(path, make)
  return { key: pem, cert: pem.slice(pem.indexOf('-----BEGIN CERTIFICATE-----')) }
}

async function keptOr(path: string, make: () => Promise<string>): Promise<string> {
  try {
    return readFileSync(path, 'utf8')
  } catch (thrown) {
    if (systemCode(thrown) !== 'ENOENT') throw thrown
  }
  const made = await make()
  writeFileSync(path, made, { mode: 0o600, flag: 'wx' })
  return made
}
