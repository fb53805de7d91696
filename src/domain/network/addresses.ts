// IP addresses as text. Nothing here needs Node: the console checks addresses with the same code.

export function isAddress(text: string): boolean {
  return isIPv4(text) || isIPv6(text)
}

function isIPv4(text: string): boolean {
  const parts = text.split('.')
  return parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256)
}

/** URL parses the address. It does not know zones, so the zone is taken off first. */
export function isIPv6(text: string): boolean {
  if (!text.includes(':')) return false
  const address = text.replace(ZONE, '')
  return /^[0-9a-f:.]+$/i.test(address) && URL.canParse(`http://[${address}]`)
}

const ZONE = /%[0-9a-z.:-]+$/i

/** One spelling per address. IPv6 is compressed and in lower case; an IPv4 address mapped into IPv6 becomes IPv4. */
export function canonicalAddress(address: string): string {
  if (!isIPv6(address)) return address
  const host = new URL(`http://[${address.replace(ZONE, '')}]`).hostname.slice(1, -1)
  const mapped = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(host)
  if (!mapped) return host
  const bits = (Number.parseInt(mapped[1] ?? '0', 16) << 16) | Number.parseInt(mapped[2] ?? '0', 16)
  return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 255).join('.')
}
