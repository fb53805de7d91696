// Where a protocol cannot say that a file is compressed (SFTP, folders), a channel with compression LZW or VARIABLE sends
// gzip files, which any partner can open, and their names say so: `.gz` is added on the way out. On the way in a file
// whose name ends so and that is gzip is opened, and loses the ending. Anything else is taken as it is.

import type { Channel } from '../../contract/channel.ts'
import { nameFault } from '../../domain/names/received-name.ts'
import { NodeError } from '../../errors.ts'
import type { Capabilities } from '../transports/transport.ts'

export const GZ = '.gz'
const LONGEST_NAME = 255

export function sendsGzip(channel: Channel, { envelopes }: Pick<Capabilities, 'envelopes'>): boolean {
  const compression = channel.connection?.advancedConfigurationTransmission?.compression
  return !envelopes && (compression === 'LZW' || compression === 'VARIABLE')
}

/** Undefined: the name does not say that it is gzip, or what is left would be no name. */
export function openedName(name: string): string | undefined {
  if (!hasGz(name)) return undefined
  const opened = name.slice(0, -GZ.length)
  return nameFault(opened) === undefined ? opened : undefined
}

export function hasGz(name: string): boolean {
  return name.toLowerCase().endsWith(GZ)
}

/** Where it has not, a file that may travel unpacked does. */
export function hasRoomForGz(name: string): boolean {
  return Buffer.byteLength(name + GZ) <= LONGEST_NAME
}

export function nameOnWire(name: string, suffix: string): string {
  if (Buffer.byteLength(name + suffix) > LONGEST_NAME)
    throw new NodeError('file_refused', `${name} is too long a name for ${suffix} to be added`)
  return name + suffix
}
