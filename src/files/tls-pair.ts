// A certificate and its key in two files, for a listener. The files are looked at again at each call, so that whoever
// renews them need not restart the node. New files that make no pair (one may still be on its way) are not taken: the
// certificate before stays, and the log says why.

import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { messageOf, NodeError, systemCode } from '../errors.ts'

export type TlsIdentity = { key: string; cert: string }
export type TlsFiles = { certPath: string; keyPath: string }
export type RenewedIdentity = TlsIdentity & {
  /** The pair that is to be shown from now on, where it is another than before. */
  renewed(): TlsIdentity | undefined
}

/** `names` are the settings that name the files. Throws where they make no pair to begin with. */
export function watchPair(files: TlsFiles, names: string, warn: (message: string) => void): RenewedIdentity {
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
function stampOf({ certPath, keyPath }: TlsFiles): string {
  return [certPath, keyPath]
    .map((path) => {
      const found = statSync(path, { throwIfNoEntry: false })
      return found ? `${found.ino} ${found.size} ${found.mtimeMs}` : 'none'
    })
    .join(', ')
}

export function readPair({ certPath, keyPath }: TlsFiles, fail: (why: string) => NodeError): TlsIdentity {
  const read = (path: string) => {
    try {
      return readFileSync(path, 'utf8')
    } catch (thrown) {
      throw fail(`must name files that can be read; ${path}: ${systemCode(thrown) ?? messageOf(thrown)}`)
    }
  }
  const pair = { cert: read(certPath), key: read(keyPath) }
  if (isPair(pair)) return pair
  throw fail(`must be a PEM certificate and its private key; ${certPath} and ${keyPath} are not`)
}

/** Of one file, as the node makes it for itself: the key, and its certificate behind it. */
export function pairInOne(path: string, pem: string): TlsIdentity {
  const pair = { key: pem, cert: pem.slice(Math.max(0, pem.indexOf('-----BEGIN CERTIFICATE-----'))) }
  if (isPair(pair)) return pair
  throw new NodeError(
    'bad_use',
    `${path} is no private key with its certificate: put it back from a backup, or remove it, and the node makes another when it starts`,
  )
}

/** Neither one that does not parse nor one of another key can be shown. */
function isPair({ cert, key }: TlsIdentity): boolean {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))
  } catch {
    return false
  }
}
