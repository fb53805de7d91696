// How much a partner may ask for at once. Every table of the server has a bound, and it is here.

export interface SftpServerLimits {
  /** Connections in all, signed in or not. */
  connections: number
  connectionsPerContact: number
  channelsPerConnection: number
  handlesPerChannel: number
  /** Entries of one folder that are shown. */
  listEntries: number
  /** From the first octet to the end of the sign-in. */
  loginMs: number
  signInTries: number
  /** Octets received and not yet written, or answered and not yet sent, before a channel is no longer read. */
  queuedOctets: number
}

export const DEFAULT_LIMITS: SftpServerLimits = {
  connections: 200,
  connectionsPerContact: 32,
  channelsPerConnection: 4,
  handlesPerChannel: 256,
  listEntries: 20_000,
  loginMs: 30_000,
  signInTries: 6,
  queuedOctets: 4 * 1024 * 1024,
}

/** ssh2's receive window; more than this waiting unread means that the client does not keep to it. */
export const RECEIVE_WINDOW = 2 * 1024 * 1024
