// What a browser calls itself, as people know it.

const BROWSERS = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const
const SYSTEMS = [
  ['Android', 'Android'],
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Windows', 'Windows'],
  ['Mac OS', 'macOS'],
  ['Linux', 'Linux'],
] as const

/** "Chrome 120, Linux"; what is none of the well-known ones stands as it called itself. */
export function browserName(agent: string): string {
  const [mark, browser] = BROWSERS.find(([one]) => agent.includes(one)) ?? []
  if (mark === undefined || browser === undefined) return agent
  const version = /^\d+/.exec(agent.slice(agent.indexOf(mark) + mark.length))?.[0]
  const system = SYSTEMS.find(([one]) => agent.includes(one))?.[1]
  return [[browser, version].filter(Boolean).join(' '), system].filter(Boolean).join(', ')
}
