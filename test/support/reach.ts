// For tests of transports, where no channel asks for anything.

import type { Proof, Reach } from '../../src/engine/transports/transport.ts'

/** Every channel of the contact exists. */
export function reachAll(contactId: string, openedBy: Reach['openedBy'] = 'node'): Reach {
  return { contactId, openedBy, refusal: () => undefined }
}

/** Somebody who has shown nothing but where it calls from. */
export function shows(given: Partial<Proof> = {}): Proof {
  const nothing = { knows: () => false, owns: () => false }
  return { address: '127.0.0.1', encrypted: true, signedIn: true, ...nothing, ...given }
}
