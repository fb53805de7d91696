// What the parts of the notifier work with; built once by notifier.ts.

import type { Zone } from '../domain/time.ts'
import type { Log } from '../log.ts'
import type { Store } from '../store/database/store.ts'
import type { Seal } from '../store/seal.ts'
import type { Mailer } from './mail/mailer.ts'
import type { Poster } from './webhook.ts'

/** `use` is the setting that names it. */
export type ShownCertificate = { use: string; pem: string }

export type NotifyParts = {
  store: Store
  seal: Seal
  log: Log
  zone: Zone
  /** Names this node in leases. */
  owner: string
  leaseMs: number
  /** The database's clock, as of the last look at it. */
  now: () => number
  /** Those that callers of this node are shown. */
  listeners: () => Promise<readonly ShownCertificate[]>
  poster: Poster
  /** undefined: no mail server is set. */
  mailer: Mailer | undefined
}
