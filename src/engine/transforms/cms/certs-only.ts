// A CMS message that signs nothing and only carries certificates (RFC 5652, 5.1), as partners exchange them (RFC 5024,
// 10.4; `openssl crl2pkcs7 -nocrl`). Whom it comes from is not told by it: whoever takes the certificate must compare it.

import { X509Certificate } from 'node:crypto'
import { NodeError } from '../../../errors.ts'
import { OID } from './algorithms.ts'
import { children, definite, dottedOid, readTlv, TAG } from './der.ts'

/**
 * The one certificate that the message is sent for, in PEM: of several the one that has not issued another of them.
 * Undefined if it is no CMS message of that kind, in DER or PEM.
 */
export function certificateIn(message: Buffer): string | undefined {
  const found = certificatesIn(message)
  if (!found) return undefined
  const last = found.filter((one) => !found.some((other) => other !== one && other.checkIssued(one)))
  const [certificate, ...more] = last
  if (!certificate || more.length > 0)
    throw new NodeError('bad_use', `which of the ${found.length} certificates is meant is not clear`)
  return certificate.toString()
}

const PEM = /-----BEGIN (PKCS7|CMS)-----([^-]+)-----END \1-----/

function certificatesIn(message: Buffer): X509Certificate[] | undefined {
  try {
    const base64 = PEM.exec(message.toString('latin1'))?.[2]
    const bytes = base64 === undefined ? message : Buffer.from(base64, 'base64')
    const [type, content] = children(readTlv(definite(bytes)).value)
    if (type?.tag !== TAG.oid || dottedOid(type.value) !== OID.signedData || !content) return undefined
    const fields = children(readTlv(content.value).value)
    const certificates = fields.find(({ tag }) => tag === TAG.contextConstructed(0))
    const signers = fields.at(-1)
    if (!certificates || signers?.tag !== TAG.set || signers.value.length > 0) return undefined
    return children(certificates.value).map(({ whole }) => new X509Certificate(whole))
  } catch {
    return undefined
  }
}
