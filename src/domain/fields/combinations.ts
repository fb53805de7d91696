// Values that are allowed each by itself, and do nothing or cannot work beside the channel's other ones. They are warned
// about and never refused: fields are often set one after the other.

import type { Directory } from '../../contract/channel.ts'
import type { Fault } from '../channel-rules.ts'
import { transmission } from './effects.ts'
import type { Configured } from './effects.ts'

const LONGEST_FIXED = 1_048_576
/** RFC 5024, 5.3.3: SFIDLRECL has five digits. */
const LONGEST_OFTP2 = 99_999

export function vainCombinations(channel: Configured, protocol: string): Fault[] {
  return [
    ...encryptionOff(channel),
    ...signaturesOff(channel),
    ...missingKeys(channel),
    ...(channel.directories ?? []).flatMap((directory, index) =>
      [
        ...recordFaults(directory, protocol),
        ...translationFaults(directory, transmission(channel).characters),
      ].map(({ pointer, message }) => ({ pointer: `/directories/${index}${pointer}`, message })),
    ),
  ]
}

function encryptionOff({ security = {} }: Configured): Fault[] {
  const { cryptography, ciphrate = 'NO' } = security
  if (ciphrate === 'NO' || cryptography === true) return []
  const message = `${ciphrate} has no effect while cryptography is not true: nothing is encrypted`
  return [{ pointer: '/security/ciphrate', message }]
}

function signaturesOff(channel: Configured): Fault[] {
  if (channel.svcff === true) return []
  return (['emissionff', 'receptionff'] as const)
    .filter((field) => channel[field] === true)
    .map((field) => ({ pointer: `/${field}`, message: 'has no effect while svcff is not true' }))
}

/** In a platform file a key that is left out may be in the database; one that is null is taken away. */
function missingKeys(channel: Configured): Fault[] {
  const { security = {}, direction, svcff, emissionff, receptionff } = channel
  const [sends, receives] = [direction !== 'RECEPCION', direction !== 'EMISION']
  const encrypts = security.cryptography === true && /^(FILE|ALL)$/.test(security.ciphrate ?? '')
  const needs = [
    [svcff && emissionff && sends, 'rsaLocalKey', 'to sign files (emissionff): without it none can be sent'],
    [
      encrypts && receives,
      'rsaLocalKey',
      'to open encrypted files (ciphrate): without it none can be received',
    ],
    [
      svcff && receptionff && receives,
      'rsaRemoteKey',
      'to check signatures (receptionff): without it every file goes to quarantine',
    ],
    [encrypts && sends, 'rsaRemoteKey', 'to encrypt files (ciphrate): without it none can be sent'],
  ] as const
  return needs.flatMap(([needed, key, why]) => {
    if (!needed || typeof security[key] === 'string') return []
    const place = security[key] === null ? '' : '; it is not here, and one in the database stays'
    return [{ pointer: `/security/${key}`, message: `is needed ${why}${place}` }]
  })
}

function recordFaults(directory: Directory, protocol: string): Fault[] {
  const { fileFormat = 'BINARIO', registerLength = 0, delimitator = 'NINGUNO', compression } = directory
  const pointer = '/registerLength'
  if (fileFormat === 'BINARIO')
    return [
      ...(registerLength > 0
        ? [{ pointer, message: 'has no effect with BINARIO: there are no records' }]
        : []),
      ...(delimitator === 'NINGUNO'
        ? []
        : [{ pointer: '/delimitator', message: 'has no effect with BINARIO: there are no records' }]),
    ]
  if (fileFormat !== 'FIJO') return []
  if (registerLength > LONGEST_FIXED)
    return [
      { pointer, message: `is more than ${LONGEST_FIXED}, the longest record: every file will be refused` },
    ]
  // A directory that compresses sends its files as octets, not as records.
  return protocol === 'oftp2' && registerLength > LONGEST_OFTP2 && compression !== true
    ? [
        {
          pointer,
          message: `is more than ${LONGEST_OFTP2}, the longest record of OFTP2: no file can be sent`,
        },
      ]
    : []
}

function translationFaults(directory: Directory, characters: string | undefined): Fault[] {
  const { translateStatus, alphabet = 'NINGUNO', traduction = 'NINGUNO' } = directory
  if (translateStatus !== true)
    return traduction === 'NINGUNO'
      ? []
      : [{ pointer: '/traduction', message: 'has no effect while translateStatus is not true' }]
  const pointer = '/translateStatus'
  if (alphabet === 'NINGUNO')
    return [{ pointer, message: 'has no effect without alphabet: the local file’s is not known' }]
  return traduction === 'NINGUNO' && characters === undefined
    ? [
        {
          pointer,
          message: 'has no effect: neither traduction nor characters names the alphabet on the wire',
        },
      ]
    : []
}
