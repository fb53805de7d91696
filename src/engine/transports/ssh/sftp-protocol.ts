// What the engine must know of SFTP, for both roles: a contact's `sftp` section is for calls that this node makes, its
// `access` section for those that the partner makes.

import type { Protocol } from '../transport.ts'

export const SFTP: Protocol = {
  protocol: 'sftp',
  capabilities: {
    records: false,
    envelopes: false,
    oneFileAtATime: false,
    pickup: true,
    leavesParts: true,
    receipts: false,
    // By reading the file back: twice the traffic, hence only for files that ask for it.
    remoteHash: true,
    defaultPort: 22,
  },
  sections: { calling: 'sftp', called: 'access' },
  callerIds: ({ settings }) => {
    const username = (settings as { username?: string } | undefined)?.username
    return username === undefined ? [] : [username]
  },
  keyName: (name) => name,
}
