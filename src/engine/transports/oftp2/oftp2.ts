// The OFTP2 transport (RFC 5024): what the engine and main.ts use of this folder.
import type { Protocol, Transport } from '../transport.ts'
import { callPartner } from './connect.ts'
import type { Oftp2Settings } from '../../../contract/contact-settings.ts'
import type { SessionCrypto } from './settings.ts'
import { samePassword } from './protocol/auth.ts'
import { datasetName } from './protocol/dataset-name.ts'
import { WorkspacePool } from './data/workspace.ts'

/** IANA: odette-ftp and odette-ftps. */
const OFTP2_PORT = 3305
const OFTP2_TLS_PORT = 6619

export interface Oftp2Transport extends Transport<Oftp2Settings> {
  /** Shared with listeners, so that all sessions of a node draw on the same memory. */
  readonly pool: WorkspacePool
}

/** What the engine must know of OFTP2. */
export const OFTP2: Protocol = {
  protocol: 'oftp2',
  capabilities: {
    records: true,
    envelopes: true,
    oneFileAtATime: true,
    pickup: false,
    receipts: true,
    remoteHash: false,
    defaultPort: OFTP2_PORT,
    defaultTlsPort: OFTP2_TLS_PORT,
  },
  sections: { calling: 'oftp2', called: 'oftp2' },
  // A caller gives the contact's own id, or one of its remote codes where it has none.
  callerIds: ({ settings, remoteCodes }) => {
    const own = (settings as { id?: string } | undefined)?.id
    return own === undefined ? remoteCodes : [own]
  },
  keyName: datasetName,
  samePassword,
  sessionsAllowed: (settings) => (settings as Oftp2Settings | undefined)?.sessions,
  lineDemands: (settings) => (settings as Oftp2Settings | undefined)?.tls,
}

export function createOftp2(options: { crypto: SessionCrypto }): Oftp2Transport {
  const pool = new WorkspacePool()
  return {
    ...OFTP2,
    pool,
    connect: (call, host) => callPartner(call, host, { crypto: options.crypto, pool }),
  }
}

export { fitsPassword } from './protocol/auth.ts'
export { listenOftp2 } from './listen.ts'
export { listenerCertificate } from './listener-certificate.ts'
export { refusalOf } from './protocol/reasons.ts'
