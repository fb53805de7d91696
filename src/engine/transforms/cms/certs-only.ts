// Certificates as partners send them: in PEM, in DER, or in a CMS message that signs nothing and only carries them (RFC
// 5652, 5.1; RFC 5024, 10.4; `openssl crl2pkcs7 -nocrl`). Whom they come from is not told by it: whoever takes one must
// compare it.

import { X509Certificate } from 'node:crypto'
import { NodeError } from '../../../errors.ts'
import { OID } from './algorithms.ts'
import { children, definite, dottedOid, readTlv, TAG } from './der.ts'

/**
 * The one certificate that the file is sent for, in PEM: of several the one that has not issued another of them.
 * Undefined if it holds none. Throws where one cannot be read, or where it is not clear which one is meant.
 */
export function certificateIn(message: Buffer): string | undefined {
  const all = certificatesIn(message)
  const found = [...new Map(all.map((one) => [one.fingerprint256, one])).values()]
  if (found.length === 0) return undefined
  const last = found.filter((one) => !found.some((other) => other !== one && other.checkIssued(one)))
  const [certificate, ...more] = last
  if (!certificate || more.length > 0)
    throw new NodeError('bad_use', `which of the ${found.length} certificates is meant is not clear`)
  return certificate.toString()
}

const MESSAGE = /-----BEGIN (PKCS7|CMS)-----([^-]+)-----END \1-----/
/** Under any of the labels that it can be read under. OpenSSL's `-trustout` writes TRUSTED. */
const CERTIFICATE = /-----BEGIN ((?:X509 |TRUSTED )?CERTIFICATE)-----[^-]+-----END \1-----/g
const BEGINNING = /-----BEGIN [A-Z0-9 ]*CERTIFICATE-----/g

/** In PEM all of them must be readable: without the damaged one, its authority's would be taken for the one that is meant. */
function certificatesIn(file: Buffer): X509Certificate[] {
  const text = file.toString('latin1')
  const begun = text.match(BEGINNING)?.length ?? 0
  const bare = begun > 0 ? (text.match(CERTIFICATE) ?? []).flatMap(certificate) : certificate(file)
  if (bare.length < begun) throw new NodeError('bad_use', 'it holds a certificate that cannot be read')
  return bare.length > 0 ? bare : certificatesOfMessage(file, text)
}

function certificate(file: string | Buffer): X509Certificate[] {
  try {
    return [new X509Certificate(file)]
  } catch {
    return []
  }
}

function certificatesOfMessage(message: Buffer, text: string): X509Certificate[] {
  try {
    const base64 = MESSAGE.exec(text)?.[2]
    const bytes = base64 === undefined ? message : Buffer.from(base64, 'base64')
    const [type, content] = children(readTlv(definite(bytes)).value)
    if (type?.tag !== TAG.oid || dottedOid(type.value) !== OID.signedData || !content) return []
    const fields = children(readTlv(content.value).value)
    const certificates = fields.find(({ tag }) => tag === TAG.contextConstructed(0))
    const signers = fields.at(-1)
    if (!certificates || signers?.tag !== TAG.set || signers.value.length > 0) return []
    return children(certificates.value).map(({ whole }) => new X509Certificate(whole))
  } catch {
    return []
  }
}
