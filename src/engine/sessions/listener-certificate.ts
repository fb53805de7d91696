// The certificate that the OFTP2 TLS listener shows: the files of ESCLUSA_OFTP2_TLS_CERT and _KEY where they are set, else
// those of HTTP, else one that is made once and kept.
//
// Files are looked at again at each call, so that whoever renews them need not restart the node. New files that make no
// pair (one may still be on its way) are not taken: the certificate before stays, and the log says why.

import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import { messageOf, NodeError, systemCode } from '../../errors.ts'

export type TlsIdentity = { key: string; cert: string }
export type ListenerCertificate = TlsIdentity & {
  /** The pair that is to be shown from now on, where it is another than before. */
  renewed(): TlsIdentity | undefined
}

export async function listenerCertificate(
  config: Config,
  warn: (message: string) => void,
): Promise<ListenerCertificate> {
  const files = config.oftp2Tls ?? config.tls
  if (files === undefined) return { ...(await keptIdentity(config)), renewed: () => undefined }
  const names = config.oftp2Tls
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

type Files = NonNullable<Config['tls']>

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

async function keptIdentity(config: Config): Promise<TlsIdentity> {
  const path = join(config.dataDir, 'oftp2-tls.pem')
  const pem = await keptOr(path, async () => {
    const { generateSelfSigned } = await import('../transforms/cms/self-signed.ts')
    const { privateKeyPem, certificatePem } = await generateSelfSigned({ commonName: 'esclusa', days: 3650 })
    return `${privateKeyPem.trim()}\n${certificatePem.trim()}\n`
  })
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
