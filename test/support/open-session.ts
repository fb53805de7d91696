import type { SessionSecurity } from '../../src/engine/transports/transport.ts'

/** A session that is not encrypted, and in which nobody proves anything. */
export const OPEN_SESSION: SessionSecurity = {
  encrypted: false,
  authentication: 'NONE',
  localKey: undefined,
  remoteKey: undefined,
  rsaLocalKey: undefined,
  rsaRemoteKey: undefined,
}
