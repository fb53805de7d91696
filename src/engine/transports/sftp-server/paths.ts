// The tree a partner sees, and nothing but it: `/`, `/<application>`, `/<application>/in`, `/<application>/out`, and
// names inside the last two. A client's path is read here into one of those places or into nothing; it is never
// joined to, compared with or turned into a path of the local file system.

export type Side = 'in' | 'out'

export type Place =
  | { kind: 'root' }
  | { kind: 'application'; application: string }
  | { kind: 'folder'; application: string; side: Side }
  | { kind: 'file'; application: string; side: Side; name: string }

const MAX_NAME_OCTETS = 255
const MAX_PATH_OCTETS = 4096

/** `.` and `..` are taken out by text alone, and nothing lies above the root. Undefined for what cannot be a path. */
function partsOf(path: string | undefined): string[] | undefined {
  if (path === undefined || Buffer.byteLength(path) > MAX_PATH_OCTETS || path.includes('\u0000'))
    return undefined
  const parts: string[] = []
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue
    if (part === '..') parts.pop()
    else parts.push(part)
  }
  return parts
}

export function canonicalPath(path: string | undefined): string | undefined {
  const parts = partsOf(path)
  return parts && `/${parts.join('/')}`
}

// oxlint-disable-next-line no-control-regex
const STRANGE = /[\u0000-\u001f\u007f-\u009f/\u2028\u2029]/

/** A name a file may have here: UTF-8 of at most 255 octets without control characters. */
export function isFileName(name: string): boolean {
  return (
    name !== '' &&
    name !== '.' &&
    name !== '..' &&
    Buffer.byteLength(name) <= MAX_NAME_OCTETS &&
    !STRANGE.test(name)
  )
}

/** Undefined: there is no such place for this partner. */
export function placeOf(path: string | undefined, applications: readonly string[]): Place | undefined {
  const parts = partsOf(path)
  if (parts === undefined) return undefined
  const [application, side, name] = parts
  if (application === undefined) return { kind: 'root' }
  if (!applications.includes(application)) return undefined
  if (side === undefined) return { kind: 'application', application }
  if (side !== 'in' && side !== 'out') return undefined
  if (name === undefined) return { kind: 'folder', application, side }
  if (parts.length > 3 || !isFileName(name)) return undefined
  return { kind: 'file', application, side, name }
}
