// Certificates of TLS lines: the one that this end shows when it calls, and whether the one that a caller shows is the
// partner's. TLS has proven that the caller owns the key of the certificate. Whose it is, is decided here, because the
// listener asks everybody for one and takes whatever comes: who calls is known only after the line is up.
import { createPrivateKey, X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { CertificatePin, Proof } from '../transport.ts'

/** Longer chains are nobody's. */
const MAX_CHAIN = 8

type Shown = NonNullable<Proof['shown']>

/** What a caller has shown, held against what is kept for a partner. */
export function shownBy(socket: Socket): Shown {
  // Asked for once: the chain comes with the first answer alone.
  const shown = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined
  return (pin) => (shown === undefined ? 'none' : fits(shown, pin) ? 'fits' : 'other')
}

export function fits(shown: X509Certificate, { certificate, ca, name }: CertificatePin): boolean {
  if (!isValidNow(shown)) return false
  if (certificate !== undefined) {
    const pinned = pinnedCertificate(certificate)
    return pinned !== undefined && sameCertificate(shown, pinned)
  }
  if (name !== undefined && shown.checkHost(name) === undefined) return false
  return leadsTo(shown, certificatesIn(ca ?? ''))
}

function isValidNow({ validFromDate, validToDate }: X509Certificate): boolean {
  const now = Date.now()
  return validFromDate.getTime() <= now && now <= validToDate.getTime()
}

function sameCertificate(one: X509Certificate, other: X509Certificate): boolean {
  return one.raw.equals(other.raw)
}

/** Whether the chain that came with it ends at one of these, or it is one of them. */
function leadsTo(shown: X509Certificate, trusted: readonly X509Certificate[]): boolean {
  let one: X509Certificate | undefined = shown
  for (let length = 0; one !== undefined && length < MAX_CHAIN; length++) {
    const here: X509Certificate = one
    if (trusted.some((ca) => sameCertificate(ca, here) || issued(ca, here))) return true
    const above: X509Certificate | undefined = here.issuerCertificate
    one = above && issued(above, here) ? above : undefined
  }
  return false
}

function issued(ca: X509Certificate, one: X509Certificate): boolean {
  return ca.ca && isValidNow(ca) && one.checkIssued(ca) && one.verify(ca.publicKey)
}

function certificatesIn(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN (X509 )?CERTIFICATE-----[^-]+-----END (X509 )?CERTIFICATE-----/g) ?? []
  return blocks.map((block) => new X509Certificate(block))
}

/** The certificate in a partner's key; undefined where it is a bare public key. */
export function pinnedCertificate(pem: string | undefined): X509Certificate | undefined {
  return certificatesIn(pem ?? '')[0]
}

/** A private key with its certificate in front of others, as TLS wants them; undefined where there is none. */
export function ownIdentity(pem: string | undefined): { key: string; cert: string } | undefined {
  const keys = pem?.match(/-----BEGIN ([A-Z ]*PRIVATE KEY)-----[^-]+-----END \1-----/g) ?? []
  const [key] = keys
  if (pem === undefined || key === undefined) return undefined
  const all = certificatesIn(pem)
  const fitting = keys.map((one) => all.filter((certificate) => belongs(certificate, one)))
  const own = fitting[0]?.[0]
  if (own === undefined) return undefined
  // Certificates of keys that were at work before are no part of the chain.
  const chain = [own, ...all.filter((one) => !fitting.flat().includes(one))]
  return { key, cert: chain.map((one) => one.toString()).join('') }
}

function belongs(certificate: X509Certificate, key: string): boolean {
  try {
    return certificate.checkPrivateKey(createPrivateKey(key))
  } catch {
    return false
  }
}
