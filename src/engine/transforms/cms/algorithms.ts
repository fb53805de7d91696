// The object identifiers CMS messages name things by, and what they mean to node:crypto.

export const OID = {
  data: '1.2.840.113549.1.7.1',
  signedData: '1.2.840.113549.1.7.2',
  envelopedData: '1.2.840.113549.1.7.3',
  authEnvelopedData: '1.2.840.113549.1.9.16.1.23',
  compressedData: '1.2.840.113549.1.9.16.1.9',
  zlib: '1.2.840.113549.1.9.16.3.8',
  contentType: '1.2.840.113549.1.9.3',
  messageDigest: '1.2.840.113549.1.9.4',
  signingTime: '1.2.840.113549.1.9.5',
  rsaEncryption: '1.2.840.113549.1.1.1',
  rsaOaep: '1.2.840.113549.1.1.7',
  mgf1: '1.2.840.113549.1.1.8',
  rsaPss: '1.2.840.113549.1.1.10',
} as const

export type Digest = 'sha1' | 'sha256' | 'sha512'
export type Cipher = 'AES-256-CBC' | 'AES-256-GCM' | '3DES-CBC'

const DIGESTS: Record<string, string> = {
  '1.3.14.3.2.26': 'sha1',
  '2.16.840.1.101.3.4.2.1': 'sha256',
  '2.16.840.1.101.3.4.2.2': 'sha384',
  '2.16.840.1.101.3.4.2.3': 'sha512',
  '2.16.840.1.101.3.4.2.4': 'sha224',
  '2.16.840.1.101.3.4.2.8': 'sha3-256',
  '2.16.840.1.101.3.4.2.10': 'sha3-512',
}

/** Signature algorithms that name their digest themselves. */
const RSA_WITH_DIGEST: Record<string, string> = {
  '1.2.840.113549.1.1.5': 'sha1',
  '1.2.840.113549.1.1.14': 'sha224',
  '1.2.840.113549.1.1.11': 'sha256',
  '1.2.840.113549.1.1.12': 'sha384',
  '1.2.840.113549.1.1.13': 'sha512',
  '2.16.840.1.101.3.4.3.14': 'sha3-256',
  '2.16.840.1.101.3.4.3.16': 'sha3-512',
}

/** node:crypto's name of a digest. */
export function digestOf(oid: string): string | undefined {
  return DIGESTS[oid]
}

export function digestOid(digest: string): string {
  const found = Object.entries(DIGESTS).find(([, name]) => name === digest)
  if (found === undefined) throw new RangeError(`no identifier for ${digest}`)
  return found[0]
}

/** The digest an RSA PKCS#1 v1.5 signature was made with; undefined when the algorithm is another. */
export function rsaSignatureDigest(oid: string, digest: string): string | undefined {
  return oid === OID.rsaEncryption ? digest : RSA_WITH_DIGEST[oid]
}

export type ContentCipher = {
  oid: string
  /** node:crypto's name. */
  name: string
  keyOctets: number
  /** Length of the initialisation vector; for GCM the nonce we write, others are read. */
  ivOctets: number
  authenticated: boolean
}

const ciphers: ContentCipher[] = [
  { oid: '1.2.840.113549.3.7', name: 'des-ede3-cbc', keyOctets: 24, ivOctets: 8, authenticated: false },
  { oid: '2.16.840.1.101.3.4.1.2', name: 'aes-128-cbc', keyOctets: 16, ivOctets: 16, authenticated: false },
  { oid: '2.16.840.1.101.3.4.1.22', name: 'aes-192-cbc', keyOctets: 24, ivOctets: 16, authenticated: false },
  { oid: '2.16.840.1.101.3.4.1.42', name: 'aes-256-cbc', keyOctets: 32, ivOctets: 16, authenticated: false },
  { oid: '2.16.840.1.101.3.4.1.6', name: 'aes-128-gcm', keyOctets: 16, ivOctets: 12, authenticated: true },
  { oid: '2.16.840.1.101.3.4.1.26', name: 'aes-192-gcm', keyOctets: 24, ivOctets: 12, authenticated: true },
  { oid: '2.16.840.1.101.3.4.1.46', name: 'aes-256-gcm', keyOctets: 32, ivOctets: 12, authenticated: true },
]

const CIPHER_NAMES: Record<Cipher, string> = {
  'AES-256-CBC': 'aes-256-cbc',
  'AES-256-GCM': 'aes-256-gcm',
  '3DES-CBC': 'des-ede3-cbc',
}

export function cipherByOid(oid: string): ContentCipher | undefined {
  return ciphers.find((cipher) => cipher.oid === oid)
}

export function cipherByName(cipher: Cipher): ContentCipher {
  return ciphers.find(({ name }) => name === CIPHER_NAMES[cipher])!
}
