// Checks of a channel that a schema cannot express. Each fault names its field by JSON pointer; nothing is thrown, so
// that a platform file can report all of them and the interface the first.

import { createPrivateKey, createPublicKey } from 'node:crypto'
import { isIP } from 'node:net'
import { isAbsolute, normalize } from 'node:path'
import type { Channel, Directory } from '../contract/channel.ts'

export type Fault = { pointer: string; message: string }
export type Roots = { fileRoots: readonly string[]; scriptRoots: readonly string[] }

const SCRIPTS = [
  'exceptionFile',
  'preEmisionFile',
  'preReceptionFile',
  'postReceptionFile',
  'postEmisionFile',
] as const
const TARGETS = ['postReceptionDirectory', 'postEmisionDirectory'] as const

export function channelFaults(channel: Channel, roots: Roots): Fault[] {
  return [...valueFaults(channel, roots), ...actionFaults(channel)]
}

/** Faults of values taken one by one: wrong in any channel, whatever else it holds. */
export function valueFaults(channel: Channel, roots: Roots): Fault[] {
  return [
    ...addressFaults(channel.connection?.ips, '/connection/ips'),
    ...addressFaults(channel.connection?.proxyIps, '/connection/proxyIps'),
    ...directoryFaults(channel, roots),
    ...integrationFaults(channel, roots),
    ...keyFaults(channel),
    ...userFaults(channel.users),
  ]
}

export function addressFaults(addresses: readonly string[] | undefined, pointer: string): Fault[] {
  const seen = new Set<string>()
  return (addresses ?? []).flatMap((address, index) => {
    const at = `${pointer}/${index}`
    if (isIP(address) === 0) return [{ pointer: at, message: `"${address}" is not an IPv4 or IPv6 address` }]
    const canonical = canonicalAddress(address)
    if (seen.has(canonical)) return [{ pointer: at, message: `${address} is there twice` }]
    seen.add(canonical)
    return []
  })
}

/** One spelling per address: IPv6 compressed and in lower case, an IPv4 address mapped into IPv6 as plain IPv4. */
export function canonicalAddress(address: string): string {
  if (isIP(address) !== 6) return address
  const host = new URL(`http://[${address.replace(/%.*$/, '')}]`).hostname.slice(1, -1)
  const mapped = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(host)
  if (!mapped) return host
  const bits = (Number.parseInt(mapped[1] ?? '0', 16) << 16) | Number.parseInt(mapped[2] ?? '0', 16)
  return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 255).join('.')
}

const GLOB = /[*?]|\[.*\]|\{.*\}/

/** One for the way in alone is never a pattern; one for both ways may be, in a channel that only sends. */
function receivesInto(channel: Channel, { direction }: Directory): boolean {
  return direction === 'RECEPCION' || (direction !== 'EMISION' && channel.direction !== 'EMISION')
}

function directoryFaults(channel: Channel, roots: Roots): Fault[] {
  return (channel.directories ?? []).flatMap((directory, index) => {
    const faults = pathFaults(
      directory.filePath,
      `/directories/${index}/filePath`,
      roots.fileRoots,
      'ESCLUSA_FILE_ROOTS',
    )
    if (GLOB.test(directory.filePath ?? '') && receivesInto(channel, directory))
      faults.push({
        pointer: `/directories/${index}/filePath`,
        message: 'must be a directory, not a pattern: files are received into it',
      })
    if (directory.fileFormat === 'FIJO' && !directory.registerLength)
      faults.push({
        pointer: `/directories/${index}/registerLength`,
        message: 'FIJO needs a record length above 0',
      })
    return faults
  })
}

function integrationFaults(channel: Channel, roots: Roots): Fault[] {
  const integrations = channel.integrations ?? {}
  return [
    ...SCRIPTS.flatMap((name) => scriptFaults(integrations[name], `/integrations/${name}`, roots)),
    ...TARGETS.flatMap((name) =>
      pathFaults(integrations[name], `/integrations/${name}`, roots.fileRoots, 'ESCLUSA_FILE_ROOTS'),
    ),
  ]
}

function actionFaults({ integrations = {} }: Channel): Fault[] {
  return [
    ...needs(
      integrations.postEmisionAction === 'EMISION_MOVE',
      integrations.postEmisionDirectory,
      'postEmisionDirectory',
    ),
    ...needs(
      integrations.postEmisionAction === 'EMISION_EXECUTE',
      integrations.postEmisionFile,
      'postEmisionFile',
    ),
    ...needs(
      integrations.postReceptionAction === 'RECEPTION_MOVE',
      integrations.postReceptionDirectory,
      'postReceptionDirectory',
    ),
    ...needs(
      integrations.postReceptionAction === 'RECEPTION_EXECUTE',
      integrations.postReceptionFile,
      'postReceptionFile',
    ),
  ]
}

function needs(asked: boolean, value: string | undefined, field: string): Fault[] {
  return asked && !value
    ? [{ pointer: `/integrations/${field}`, message: 'is needed by the action that is set' }]
    : []
}

function scriptFaults(path: string | undefined, pointer: string, roots: Roots): Fault[] {
  if (path === undefined) return []
  if (roots.scriptRoots.length === 0)
    return [{ pointer, message: 'scripts are off on this node: ESCLUSA_SCRIPT_ROOTS is not set' }]
  return pathFaults(path, pointer, roots.scriptRoots, 'ESCLUSA_SCRIPT_ROOTS')
}

export function pathFaults(
  path: string | undefined,
  pointer: string,
  allowed: readonly string[],
  setting: string,
): Fault[] {
  if (path === undefined) return []
  if (!isAbsolute(path)) return [{ pointer, message: 'must be an absolute path' }]
  if (path.split('/').includes('..')) return [{ pointer, message: 'must not contain ..' }]
  const clean = normalize(path)
  if (!allowed.some((root) => isInside(clean, root)))
    return [{ pointer, message: `must lie inside ${setting} (${allowed.join(', ')})` }]
  return []
}

export function isInside(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith('/') ? root : `${root}/`)
}

function keyFaults(channel: Channel): Fault[] {
  const { rsaLocalKey, rsaRemoteKey } = channel.security ?? {}
  const faults: Fault[] = []
  if (rsaLocalKey !== undefined && !parses(() => createPrivateKey(rsaLocalKey)))
    faults.push({ pointer: '/security/rsaLocalKey', message: 'is not a private key in PEM form' })
  if (
    rsaRemoteKey !== undefined &&
    (rsaRemoteKey.includes('PRIVATE KEY') || !parses(() => createPublicKey(rsaRemoteKey)))
  )
    faults.push({
      pointer: '/security/rsaRemoteKey',
      message: 'is not a certificate or public key in PEM form',
    })
  return faults
}

function parses(read: () => unknown): boolean {
  try {
    read()
    return true
  } catch {
    return false
  }
}

function userFaults(users: readonly string[] | undefined): Fault[] {
  return (users ?? []).flatMap((user, index) =>
    users?.indexOf(user) === index ? [] : [{ pointer: `/users/${index}`, message: `${user} is there twice` }],
  )
}
