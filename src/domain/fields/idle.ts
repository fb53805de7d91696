// Which fields of a channel are set and do nothing, given how its contact is reached.

import type { ProtocolName } from '../../contract/contact-settings.ts'
import type { Fault } from '../channel-rules.ts'
import { vainCombinations } from './combinations.ts'
import { calls, CALLS, CANNOT_BE_CALLED, CANNOT_CALL, FIELD_EFFECTS, transmission } from './effects.ts'
import type { Column, Configured } from './effects.ts'

/** How a contact's channels are carried: by which protocol, and on SFTP whether it is called, may call, or both. */
export type Carrier = {
  protocol: ProtocolName
  called: boolean
  access: boolean
  /** OFTP2: what files that go out are encrypted with. */
  suite?: string | undefined
}

/** Ways in which the two ends can meet, as far as contact and channel allow. */
function columnsOf(channel: Configured, { protocol, called, access }: Carrier): Column[] {
  if (protocol === 'folder') return ['folder']
  const asked = calls(channel).callingEnd ?? 'INDISTINTO'
  const able = protocol === 'oftp2' ? { local: true, remote: true } : { local: called, remote: access }
  const ends = [
    ...(able.local && asked !== 'REMOTO' ? (['local'] as const) : []),
    ...(able.remote && asked !== 'LOCAL' ? (['remote'] as const) : []),
  ]
  if (ends.length > 0) return ends.map((end) => `${protocol} ${end}` as const)
  return [asked === 'REMOTO' ? `${protocol} remote` : `${protocol} local`]
}

/** Fields that are set and do nothing, whoever calls, or that cannot work beside the others. */
export function idleFields(channel: Configured, carrier: Carrier): Fault[] {
  const columns = columnsOf(channel, carrier)
  const idle = FIELD_EFFECTS.flatMap(({ pointer, isSet, cells }) => {
    const reasons = columns.map((column) => cells[column])
    const [first] = reasons
    if (!reasons.every((cell) => typeof cell === 'object') || typeof first !== 'object') return []
    return isSet(channel) ? [{ pointer: placeOf(pointer, channel), message: first.warned }] : []
  })
  return [
    ...idle,
    ...neverMeeting(channel, carrier),
    ...halfHashes(channel),
    ...vainCombinations(channel, carrier.protocol),
  ]
}

/** The directory that it is about, not the first. */
function placeOf(pointer: string, { directories = [] }: Configured): string {
  if (pointer !== '/directories/0/delimitator') return pointer
  const at = directories.findIndex(
    ({ fileFormat, delimitator = 'NINGUNO' }) => fileFormat === 'HIBRIDO' && delimitator !== 'NINGUNO',
  )
  return `/directories/${Math.max(0, at)}/delimitator`
}

function neverMeeting(channel: Configured, { protocol, called, access }: Carrier): Fault[] {
  if (protocol !== 'sftp') return []
  const { callingEnd } = calls(channel)
  const pointer = `/${CALLS.replace('.', '/')}/callingEnd`
  if (callingEnd === 'REMOTO' && !access) return [{ pointer, message: CANNOT_BE_CALLED }]
  if (callingEnd === 'LOCAL' && !called) return [{ pointer, message: CANNOT_CALL }]
  return []
}

/** Either of the two asks for the one comparison that there is. */
function halfHashes(channel: Configured): Fault[] {
  if (channel.validationHashFiles !== false || transmission(channel).crc !== true) return []
  return [
    {
      pointer: '/validationHashFiles',
      message:
        'false has no effect while crc is true: either of the two switches the comparison of hashes on',
    },
  ]
}
