// What a protocol requires of a contact and its channels. Which fields do nothing with it stands in
// domain/fields.

import { X509Certificate, createPrivateKey } from 'node:crypto'
import { isIP } from 'node:net'
import { isAbsolute } from 'node:path'
import { certificateFault } from '../domain/channel-faults.ts'
import type { Fault } from '../domain/channel-rules.ts'
import { parseCode } from '../domain/channel.ts'
import type { ProtocolName } from '../contract/contact-settings.ts'
import { idleFields } from '../domain/fields/idle.ts'
import type { Carrier } from '../domain/fields/idle.ts'
import { partnerFolderFault } from '../files/partner-folders.ts'
import type { NodePlaces } from '../files/partner-folders.ts'
import { cmsFindings } from './cms-rules.ts'
import { UNREAD } from './references.ts'
import type { PlatformChannel, PlatformContact } from '../contract/administration/platform-file.ts'

export type Findings = { faults: Fault[]; warnings: Fault[] }

const APPLICATION = /^[A-Z0-9/\-.&()]{1,8}$/
const PASSWORD = /^(?! )[A-Za-z0-9/\-.&() ]{0,8}(?<! )$/
const FINGERPRINT = /^SHA256:[A-Za-z0-9+/]{43}=?$/
const PUBLIC_KEY =
  /^(ssh-ed25519|ssh-rsa|rsa-sha2-256|rsa-sha2-512|ecdsa-sha2-nistp(256|384|521)|sk-ssh-ed25519@openssh\.com|sk-ecdsa-sha2-nistp256@openssh\.com) [A-Za-z0-9+/]+={0,2}( .*)?$/

export function oftp2IdFits(text: string): boolean {
  return /^[A-Z0-9/.&() -]{1,25}$/.test(text)
}

export function contactFindings(contact: PlatformContact, places: NodePlaces): Findings {
  const found: Findings = { faults: [], warnings: [] }
  const fault = (pointer: string, message: string) => found.faults.push({ pointer, message })
  const warn = (pointer: string, message: string) => found.warnings.push({ pointer, message })
  const { protocol = 'oftp2', folder, sftp, oftp2, access, remoteIPs = [] } = contact
  for (const [index, { ipAddress, port }] of remoteIPs.entries()) {
    if (ipAddress !== undefined && isIP(ipAddress) === 0)
      fault(`/remoteIPs/${index}/ipAddress`, 'is not an IPv4 or IPv6 address')
    if (port !== undefined && (port < 1 || port > 65_535))
      fault(`/remoteIPs/${index}/port`, 'must be from 1 to 65535')
  }
  if (protocol === 'folder' && !folder)
    fault('/protocol', 'folder needs the section folder: { inbox, outbox }')
  if (protocol === 'sftp' && !sftp && !access)
    fault('/protocol', 'sftp needs the section sftp (this node calls) or access (the partner calls)')
  if (protocol !== 'folder' && folder) warn('/folder', `has no effect: the protocol is ${protocol}`)
  if (protocol !== 'sftp' && sftp) warn('/sftp', `has no effect: the protocol is ${protocol}`)
  if (protocol !== 'oftp2' && oftp2) warn('/oftp2', `has no effect: the protocol is ${protocol}`)
  for (const name of ['inbox', 'outbox'] as const) {
    const path = folder?.[name]
    if (path === undefined) continue
    const message =
      !isAbsolute(path) || path.split('/').includes('..')
        ? 'must be an absolute path without ..'
        : partnerFolderFault(path, places)
    if (message !== undefined) fault(`/folder/${name}`, message)
  }
  sftpFindings(sftp, fault, warn)
  accessFindings(access, fault, warn)
  tlsFindings(oftp2?.tls, fault, warn)
  return found
}

type Say = (pointer: string, message: string) => void

function sftpFindings(sftp: PlatformContact['sftp'], fault: Say, warn: Say): void {
  if (!sftp) return
  for (const [index, key] of sftp.hostKeys.entries())
    if (!FINGERPRINT.test(key))
      fault(
        `/sftp/hostKeys/${index}`,
        'must be a fingerprint as ssh-keygen -l prints it: SHA256: and 43 characters',
      )
  if (sftp.password === null && sftp.privateKey === null) fault('/sftp', 'needs a password or a privateKey')
  if (sftp.password === undefined && sftp.privateKey === undefined)
    warn('/sftp', 'has neither password nor privateKey here: the one in the database stays')
  if (typeof sftp.privateKey === 'string' && sftp.privateKey !== UNREAD && !isSshKey(sftp.privateKey))
    warn(
      '/sftp/privateKey',
      'is not a private key in PEM or OpenSSH form (PuTTYgen exports the latter): no call will succeed with it',
    )
  if (!sftp.inbox && !sftp.outbox)
    warn('/sftp', 'has neither inbox nor outbox: nothing can be sent or fetched')
}

/** Whether it can be opened with the passphrase shows at the first call. */
function isSshKey(text: string): boolean {
  // Of PuTTY's own forms, the SSH library reads only this one.
  if (text.trim().startsWith('PuTTY-User-Key-File-2: ssh-rsa')) return true
  const [block, kind] = /-----BEGIN ([A-Z ]*)PRIVATE KEY-----[^]+-----END \1PRIVATE KEY-----/.exec(text) ?? []
  if (block === undefined) return false
  return kind !== '' || parses(() => createPrivateKey(block))
}

/** `type octets comment`: the octets begin with the type as well, and have more after it. */
function isPublicKeyLine(line: string): boolean {
  const [type = '', encoded = ''] = line.trim().split(' ')
  const octets = Buffer.from(encoded, 'base64')
  const length = octets.length >= 4 ? octets.readUInt32BE(0) : 0
  const named = octets.toString('latin1', 4, 4 + length)
  return octets.length > 4 + length && named === type.replace(/^rsa-sha2-(256|512)$/, 'ssh-rsa')
}

function parses(read: () => unknown): boolean {
  try {
    read()
    return true
  } catch {
    return false
  }
}

function accessFindings(access: PlatformContact['access'], fault: Say, warn: Say): void {
  if (!access) return
  for (const [index, key] of (access.authorizedKeys ?? []).entries())
    if (!PUBLIC_KEY.test(key.trim()))
      fault(
        `/access/authorizedKeys/${index}`,
        'must be a public key line without options, such as ssh-ed25519 AAAA…',
      )
    else if (!isPublicKeyLine(key))
      warn(`/access/authorizedKeys/${index}`, 'is not a whole public key: nobody can sign in with it')
  if (access.password === null && !access.authorizedKeys)
    fault('/access', 'needs authorizedKeys or a password')
  if (access.password === undefined && !access.authorizedKeys)
    warn('/access', 'has neither authorizedKeys nor password here: the password in the database stays')
}

function tlsFindings(tls: NonNullable<PlatformContact['oftp2']>['tls'], fault: Say, warn: Say): void {
  const check = (name: 'ca' | 'cert' | 'key', what: string, read: (pem: string) => unknown) => {
    const pem = tls?.[name]
    if (typeof pem !== 'string' || pem === UNREAD) return
    if (!parses(() => read(pem))) fault(`/oftp2/tls/${name}`, `is not ${what} in PEM form`)
    else {
      const message = certificateFault(pem)
      if (message !== undefined) fault(`/oftp2/tls/${name}`, message)
    }
  }
  check('ca', 'a certificate', (pem) => new X509Certificate(pem))
  check('cert', 'a certificate', (pem) => new X509Certificate(pem))
  check('key', 'a private key', (pem) => createPrivateKey(pem))
  const { cert, key } = tls ?? {}
  if (typeof cert !== 'string' || typeof key !== 'string' || cert === UNREAD || key === UNREAD) return
  let fits = true
  if (parses(() => (fits = new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)))) && !fits)
    warn('/oftp2/tls/key', 'does not belong to the certificate in cert: no encrypted call will succeed')
}

// Channels

export function carrierOf(
  protocol: ProtocolName,
  { sftp, access, oftp2 }: { sftp?: unknown; access?: unknown; oftp2?: { suite?: string } },
): Carrier {
  return { protocol, called: sftp !== undefined, access: access !== undefined, suite: oftp2?.suite }
}

export function channelFindings(channel: PlatformChannel, carrier: Carrier): Findings {
  const cms = cmsFindings(channel, carrier)
  const warnings = [...idleFields(channel, carrier), ...cms.warnings]
  if (carrier.protocol !== 'oftp2') return { faults: cms.faults, warnings }
  const proof = proofFindings(channel)
  return {
    faults: [...applicationFaults(channel), ...proof.faults, ...cms.faults],
    warnings: [...warnings, ...proof.warnings, ...unsendablePasswords(channel), ...unprovenHashes(channel)],
  }
}

/** Of a channel whose secrets are known, as the database has it: one that is absent is not set. */
export function knownChannelFindings(channel: PlatformChannel, carrier: Carrier): Findings {
  return channelFindings({ ...channel, security: { ...NO_SECRETS, ...channel.security } }, carrier)
}

const NO_SECRETS = { localKey: null, remoteKey: null, rsaLocalKey: null, rsaRemoteKey: null }

/**
 * Keys that the partner needs to prove who it is. If one is known not to be there (null) and the authentication is named,
 * that is a fault. If a file leaves one out, that is a warning: the key may be in the database (exports leave secrets
 * out). So it is where no authentication is named: some partners have no password.
 */
function proofFindings({ security = {} }: PlatformChannel): Findings {
  const keyed = typeof security.localKey === 'string' || typeof security.remoteKey === 'string'
  const authentication = security.authentication ?? (keyed ? 'PASSWORD' : 'NONE')
  const needed = { PASSWORD: ['remoteKey'], CERTIFICATE: ['rsaLocalKey', 'rsaRemoteKey'], NONE: [] } as const
  const found: Findings = { faults: [], warnings: [] }
  for (const key of needed[authentication]) {
    const message =
      authentication === 'PASSWORD'
        ? 'is needed for authentication PASSWORD: without it the partner’s password is not checked'
        : 'is needed for authentication CERTIFICATE: without it no session begins'
    const pointer = `/security/${key}`
    if (typeof security[key] === 'string') continue
    if (security[key] === undefined)
      found.warnings.push({ pointer, message: `${message}; it is not here, and one in the database stays` })
    else (security.authentication ? found.faults : found.warnings).push({ pointer, message })
  }
  return found
}

/** Passwords of OFTP2 have eight characters; lower case is sent as upper case. */
function unsendablePasswords({ security = {} }: PlatformChannel): Fault[] {
  const unfit = ([field]: readonly ['localKey' | 'remoteKey', string]) => {
    const key = security[field]
    return typeof key === 'string' && key !== UNREAD && !PASSWORD.test(key)
  }
  return (
    [
      ['localKey', 'no session begins with it'],
      ['remoteKey', 'the partner cannot give it'],
    ] as const
  )
    .filter(unfit)
    .map(([field, why]) => ({
      pointer: `/security/${field}`,
      message: `cannot be an OFTP2 password (at most 8 of A-Z 0-9 / - . & ( ) and blanks inside): ${why}`,
    }))
}

/** Only a signed receipt has a hash (RFC 5024, 5.3.13), and one is asked for where the partner's key is known. */
function unprovenHashes(channel: PlatformChannel): Fault[] {
  const { validationHashFiles, direction, security } = channel
  const { crc } = channel.connection?.advancedConfigurationTransmission ?? {}
  if (direction === 'RECEPCION' || typeof security?.rsaRemoteKey === 'string') return []
  const message =
    'proves nothing over OFTP2 without security.rsaRemoteKey: only a signed receipt shows a hash, so any receipt will do'
  const place = security?.rsaRemoteKey === null ? '' : '; the key is not here, and one in the database stays'
  return [
    ...(validationHashFiles === true ? ['/validationHashFiles'] : []),
    ...(crc === true ? ['/connection/advancedConfigurationTransmission/crc'] : []),
  ].map((pointer) => ({ pointer, message: message + place }))
}

/** OFTP2 carries the application in eight characters of its own alphabet. */
export function applicationFaults({
  code,
  alias,
}: {
  code: string
  alias?: string | null | undefined
}): Findings['faults'] {
  const application = parseCode(code)?.application ?? ''
  const form = 'at most 8 characters of A-Z 0-9 / - . & ( )'
  if (alias != null) return APPLICATION.test(alias) ? [] : [{ pointer: '/alias', message: `must be ${form}` }]
  if (APPLICATION.test(application)) return []
  return [
    {
      pointer: '/code',
      message: `the application ${application} does not fit OFTP2 (${form}): give the channel an alias that does`,
    },
  ]
}
