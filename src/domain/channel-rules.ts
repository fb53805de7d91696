// Checks of a channel that a schema cannot express. Each fault names its field by JSON pointer. Nothing is thrown: a
// platform file reports all faults, the interface the first.
//
// Nothing here needs Node, so the console checks its form with the same rules. What only a node knows (where paths may
// point, whether a key can be read) is an argument. Without it, the rest is checked.

import { SCRIPT_FIELDS } from '../contract/channel.ts'
import type { Channel, Directory } from '../contract/channel.ts'
import { canonicalAddress, isAddress } from './network/addresses.ts'
import { globFault, pathGlobFault, splitGlobs } from './names/glob.ts'

export type Fault = { pointer: string; message: string }
/** Which rule is broken and by which value, so that the console can say it in the user's language. */
export type RuleFault = Fault & { rule: FormRule | NodeRule; value: string }
/** Rules that a form can check. */
export type FormRule =
  | 'address'
  | 'twice'
  | 'absolute'
  | 'dots'
  | 'pattern'
  | 'glob'
  | 'recordLength'
  | 'needed'
type NodeRule = 'roots' | 'scriptsOff' | 'key'

export type Roots = {
  fileRoots: readonly string[]
  scriptRoots: readonly string[]
  /** The node's own folder, which no partner's folder may touch; not looked at where it is left out. */
  dataDir?: string
  /** What a message calls the file roots; the setting without it. */
  fileRootsName?: string
  /** Shortest RSA key that is taken; 2048 where it is left out. */
  leastRsaBits?: number
}
export type NodeKnowledge = Roots & {
  /** What is wrong with a key, going on from its name; undefined when nothing is. */
  privateKeyFault: (pem: string) => string | undefined
  publicKeyFault: (pem: string) => string | undefined
}

const TARGETS = ['postReceptionDirectory', 'postEmisionDirectory'] as const

export function ruleFaults(channel: Channel, node?: NodeKnowledge): RuleFault[] {
  return [...valueRuleFaults(channel, node), ...actionFaults(channel)]
}

/** Faults of single values: wrong in any channel, whatever its other fields are. */
export function valueRuleFaults(channel: Channel, node?: NodeKnowledge): RuleFault[] {
  return [
    ...addressFaults(channel.connection?.ips, '/connection/ips'),
    ...addressFaults(channel.connection?.proxyIps, '/connection/proxyIps'),
    ...folderFaults(channel, node),
    ...directoryFaults(channel),
    ...integrationFaults(channel, node),
    ...(node ? keyFaults(channel, node) : []),
    ...userFaults(channel.users),
  ]
}

function addressFaults(addresses: readonly string[] | undefined, pointer: string): RuleFault[] {
  const seen = new Set<string>()
  return (addresses ?? []).flatMap((value, index): RuleFault[] => {
    const at = { pointer: `${pointer}/${index}`, value }
    if (!isAddress(value))
      return [{ ...at, rule: 'address', message: `"${value}" is not an IPv4 or IPv6 address` }]
    const canonical = canonicalAddress(value)
    if (seen.has(canonical)) return [{ ...at, rule: 'twice', message: `${value} is there twice` }]
    seen.add(canonical)
    return []
  })
}

const GLOB = /[*?]|\[.*\]|\{.*\}/

/** A directory for reception is never a pattern. One for both ways may be a pattern if the channel only sends. */
function receivesInto(channel: Channel, { direction }: Directory): boolean {
  return direction === 'RECEPCION' || (direction !== 'EMISION' && channel.direction !== 'EMISION')
}

function directoryFaults(channel: Channel): RuleFault[] {
  return (channel.directories ?? []).flatMap((directory, index) => {
    const pointer = `/directories/${index}/filePath`
    const { filePath: path = '' } = directory
    const faults: RuleFault[] = []
    if (GLOB.test(path) && receivesInto(channel, directory))
      faults.push({
        rule: 'pattern',
        pointer,
        value: path,
        message: 'must be a directory, not a pattern: files are received into it',
      })
    faults.push(...globFaults(directory, `/directories/${index}`))
    if (directory.fileFormat === 'FIJO' && !directory.registerLength)
      faults.push({
        rule: 'recordLength',
        pointer: `/directories/${index}/registerLength`,
        value: '',
        message: 'FIJO needs a record length above 0',
      })
    return faults
  })
}

/** Patterns are matched against names that a partner chooses: what could take long is not taken at all. */
function globFaults({ filePath = '', fileGroupsName = '' }: Directory, base: string): RuleFault[] {
  const ofPath = pathGlobFault(filePath)
  const ofGroups = splitGlobs(fileGroupsName).flatMap((glob) => globFault(glob) ?? [])
  return [
    ...(ofPath === undefined ? [] : [{ pointer: `${base}/filePath`, value: filePath, message: ofPath }]),
    ...ofGroups
      .slice(0, 1)
      .map((message) => ({ pointer: `${base}/fileGroupsName`, value: fileGroupsName, message })),
  ].map((fault) => ({ ...fault, rule: 'glob' as const }))
}

/** Paths that lie outside the file roots. */
export function folderFaults(
  { directories = [], integrations = {} }: Channel,
  node: Roots | undefined,
): RuleFault[] {
  return [
    ...directories.flatMap(({ filePath }, index) =>
      pathFaults(filePath, `/directories/${index}/filePath`, fileRoots(node)),
    ),
    ...TARGETS.flatMap((name) => pathFaults(integrations[name], `/integrations/${name}`, fileRoots(node))),
  ]
}

function integrationFaults({ integrations = {} }: Channel, node: NodeKnowledge | undefined): RuleFault[] {
  return SCRIPT_FIELDS.flatMap((name) => scriptFaults(integrations[name], `/integrations/${name}`, node))
}

/** Which action needs which other field. */
const NEEDS = [
  ['postEmisionAction', 'EMISION_MOVE', 'postEmisionDirectory'],
  ['postEmisionAction', 'EMISION_EXECUTE', 'postEmisionFile'],
  ['postReceptionAction', 'RECEPTION_MOVE', 'postReceptionDirectory'],
  ['postReceptionAction', 'RECEPTION_EXECUTE', 'postReceptionFile'],
] as const

function actionFaults({ integrations = {} }: Channel): RuleFault[] {
  return NEEDS.filter(
    ([action, value, needed]) => integrations[action] === value && !integrations[needed],
  ).map(([, , needed]) => ({
    rule: 'needed',
    pointer: `/integrations/${needed}`,
    value: '',
    message: 'is needed by the action that is set',
  }))
}

function scriptFaults(
  path: string | undefined,
  pointer: string,
  node: NodeKnowledge | undefined,
): RuleFault[] {
  if (path === undefined) return []
  if (node?.scriptRoots.length === 0)
    return [
      {
        rule: 'scriptsOff',
        pointer,
        value: path,
        message: 'scripts are off on this node: ESCLUSA_SCRIPT_ROOTS is not set',
      },
    ]
  return pathFaults(path, pointer, node && { roots: node.scriptRoots, setting: 'ESCLUSA_SCRIPT_ROOTS' })
}

type Allowed = { roots: readonly string[]; setting: string }

export function fileRoots(node: Roots | undefined): Allowed | undefined {
  return node && { roots: node.fileRoots, setting: node.fileRootsName ?? 'ESCLUSA_FILE_ROOTS' }
}

export function pathFaults(
  path: string | undefined,
  pointer: string,
  allowed: Allowed | undefined,
): RuleFault[] {
  if (path === undefined) return []
  const at = { pointer, value: path }
  if (!path.startsWith('/')) return [{ ...at, rule: 'absolute', message: 'must be an absolute path' }]
  if (path.split('/').includes('..')) return [{ ...at, rule: 'dots', message: 'must not contain ..' }]
  const clean = withoutEmptySteps(path)
  if (allowed && !allowed.roots.some((root) => isInside(clean, root)))
    return [
      { ...at, rule: 'roots', message: `must lie inside ${allowed.setting} (${allowed.roots.join(', ')})` },
    ]
  return []
}

/** `/a//b/./c` is `/a/b/c`; a slash at the end stays. */
function withoutEmptySteps(path: string): string {
  const steps = path.split('/').filter((step) => step !== '' && step !== '.')
  return steps.length === 0 ? '/' : `/${steps.join('/')}${path.endsWith('/') ? '/' : ''}`
}

export function isInside(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith('/') ? root : `${root}/`)
}

const EMPTY_SECRET = 'must not be empty: null removes it'

function keyFaults({ security = {} }: Channel, node: NodeKnowledge): RuleFault[] {
  const { localKey, remoteKey, rsaLocalKey, rsaRemoteKey } = security
  const faults: RuleFault[] = []
  const refuse = (pointer: string, message: string | undefined) => {
    if (message !== undefined) faults.push({ rule: 'key', pointer, value: '', message })
  }
  // Whoever gives no password would have given the right one.
  if (localKey === '') refuse('/security/localKey', EMPTY_SECRET)
  if (remoteKey === '') refuse('/security/remoteKey', EMPTY_SECRET)
  if (rsaLocalKey !== undefined) refuse('/security/rsaLocalKey', node.privateKeyFault(rsaLocalKey))
  if (rsaRemoteKey !== undefined) refuse('/security/rsaRemoteKey', node.publicKeyFault(rsaRemoteKey))
  return faults
}

function userFaults(users: readonly string[] | undefined): RuleFault[] {
  return (users ?? []).flatMap((value, index) =>
    users?.indexOf(value) === index
      ? []
      : [{ rule: 'twice', pointer: `/users/${index}`, value, message: `${value} is there twice` }],
  )
}

/** No fault: they may be made later. It is warned about, because a name that is spelled wrong lets nobody in. */
export function unknownUsers(users: readonly string[] = [], usernames: ReadonlySet<string>): Fault[] {
  return users.flatMap((user, index) =>
    usernames.has(user) ? [] : [{ pointer: `/users/${index}`, message: `there is no user ${user} (yet)` }],
  )
}
