// What must hold for channels whose files are signed or encrypted, and what is allowed but easily not what was meant.

import type { PlatformChannel } from '../contract/administration/platform-file.ts'
import type { Fault } from '../domain/channel-rules.ts'
import { publicPartOf } from '../keys/key-facts.ts'
import { UNREAD } from './references.ts'

type Carried = { protocol: string; suite?: string | undefined }

/** Suites that encrypt with 3DES; the others do with AES-256-CBC. */
const TRIPLE_DES = new Set(['01', '03', '05'])
const CONFIDENTIALITY = '/security/confidentiality'

export function cmsFindings(
  channel: PlatformChannel,
  carrier: Carried,
): { faults: Fault[]; warnings: Fault[] } {
  return {
    faults: cipherFaults(channel, carrier),
    warnings: [...unsignedWarnings(channel, carrier), ...validityWarnings(channel)],
  }
}

/** OFTP2 names the cipher by the contact's suite. A file under another one would not open at the partner's end. */
function cipherFaults({ security = {} }: PlatformChannel, { protocol, suite = '04' }: Carried) {
  const { confidentiality } = security
  // AES-256-GCM, which no suite has, is warned about: files go by the suite (domain/fields).
  if (protocol !== 'oftp2' || confidentiality !== 'AES-256-CBC') return []
  return TRIPLE_DES.has(suite)
    ? [
        {
          pointer: CONFIDENTIALITY,
          message: `is ${confidentiality}, and the contact’s oftp2.suite ${suite} says 3DES: leave it out, or set suite 02, 04 or 06`,
        },
      ]
    : []
}

function unsignedWarnings(
  { security = {}, svcff, emissionff, receptionff, direction }: PlatformChannel,
  { protocol }: Carried,
) {
  const { cryptography, ciphrate, confidentiality } = security
  const authenticated = confidentiality === 'AES-256-GCM' && protocol !== 'oftp2'
  if (!cryptography || (ciphrate !== 'FILE' && ciphrate !== 'ALL') || authenticated) return []
  const lacking = [
    ...(direction !== 'RECEPCION' && !(svcff && emissionff) ? ['emissionff'] : []),
    ...(direction !== 'EMISION' && !(svcff && receptionff) ? ['receptionff'] : []),
  ]
  if (lacking.length === 0) return []
  const instead = protocol === 'oftp2' ? '' : `, or set confidentiality to AES-256-GCM`
  return [
    {
      pointer: '/svcff',
      message: `files are encrypted and not signed, so whoever is in between can change them unseen: set svcff and ${lacking.join(' and ')}${instead}`,
    },
  ]
}

function validityWarnings({ security = {} }: PlatformChannel) {
  const now = Date.now()
  return (['rsaLocalKey', 'rsaRemoteKey'] as const).flatMap((field) => {
    const pem = security[field]
    if (typeof pem !== 'string' || pem === UNREAD) return []
    // One that does not parse is told of as a fault elsewhere.
    const { validFrom, validTo } = publicPartOf(pem) ?? {}
    if (validFrom === undefined || validTo === undefined) return []
    const pointer = `/security/${field}`
    const day = (at: number) => new Date(at).toISOString().slice(0, 10)
    const nothing = 'nothing is signed, encrypted or believed with it'
    if (validTo <= now)
      return [{ pointer, message: `holds a certificate that ended on ${day(validTo)}: ${nothing}` }]
    return validFrom > now
      ? [{ pointer, message: `holds a certificate that begins on ${day(validFrom)}: ${nothing} before` }]
      : []
  })
}
