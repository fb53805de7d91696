// How much a partner may ask for at once. Every table of the server has a bound, and it is here.

export interface SftpServerLimits {
  /** Connections in all, signed in or not. */
  connections: number
  connectionsPerContact: number
  /** Connections of one address before it has signed in. */
  callersPerAddress: number
  channelsPerConnection: number
  handlesPerChannel: number
  /** Files and folders that are open over all connections of a partner. */
  handlesPerContact: number
  /** Entries of open folders that were not read yet, over all connections of a partner. */
  listedPerContact: number
  /** Entries of one folder that are shown. */
  listEntries: number
  /** From the first octet to the end of the sign-in, whatever octets come. */
  loginMs: number
  signInTries: number
  /** Agreed anew on a line that is signed in, within a minute; nobody agrees anew before. */
  keyExchangesPerMinute: number
  /** Octets received and not yet written, or answered and not yet sent, before a channel is no longer read. */
  queuedOctets: number
}

export const DEFAULT_LIMITS: SftpServerLimits = {
  connections: 200,
  connectionsPerContact: 32,
  callersPerAddress: 16,
  channelsPerConnection: 4,
  handlesPerChannel: 256,
  handlesPerContact: 1024,
  listedPerContact: 100_000,
  listEntries: 20_000,
  loginMs: 30_000,
  signInTries: 6,
  keyExchangesPerMinute: 30,
  queuedOctets: 4 * 1024 * 1024,
}

/** ssh2's receive window; more than this waiting unread means that the client does not keep to it. */
export const RECEIVE_WINDOW = 2 * 1024 * 1024
