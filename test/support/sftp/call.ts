// For tests: calls to an SFTP server on this machine.

import type { SftpSettings } from '../../../src/contract/contact-settings.ts'
import type { Call } from '../../../src/engine/transports/transport.ts'
import { OPEN_SESSION } from '../open-session.ts'
import { reachAll } from '../reach.ts'
import type { OpenSsh } from './openssh.ts'

/** All the time that a slow machine needs. */
const TIMEOUTS = { connectMs: 60_000, syncMs: 60_000, ackMs: 60_000, idleMs: 60_000 }

export function sftpCall(
  port: number,
  settings: SftpSettings,
  change: Partial<Call<SftpSettings>> = {},
): Call<SftpSettings> {
  return {
    contactId: 'acme',
    host: '127.0.0.1',
    port,
    localId: 'BANCO',
    remoteId: 'ACME',
    settings,
    applications: async () => ['NOMINA'],
    reach: reachAll('acme'),
    ways: 'B',
    timeouts: TIMEOUTS,
    security: { ...OPEN_SESSION, encrypted: true },
    compression: false,
    signal: new AbortController().signal,
    ...change,
  }
}

/** What a contact's settings say to sign in to that server. */
export function signInTo({ username, userKey, hostKey }: OpenSsh) {
  return { username, privateKey: userKey.private, hostKeys: [hostKey.fingerprint] }
}
