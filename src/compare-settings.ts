// Which node does what is not fixed, so settings that say what is done are the same on all nodes of a platform. A node
// that starts compares its own with those of the nodes at work, which the audit trail has; it warns and goes on.

import type { Config, SettingName } from './config.ts'
import type { Log } from './log.ts'
import { VERSION } from './root.ts'
import { shownSettings } from './shown-settings.ts'
import { walkAudit } from './store/audit.ts'
import type { Store } from './store/database/store.ts'
import { livingOwners } from './store/transfers/signs-of-life.ts'

/** None of them is a secret. docs/operate/postgresql.md lists them too. */
const SAME_ON_ALL = {
  timezone: 'ESCLUSA_TIMEZONE',
  fileRoots: 'ESCLUSA_FILE_ROOTS',
  scriptRoots: 'ESCLUSA_SCRIPT_ROOTS',
  codePage: 'ESCLUSA_CODE_PAGE',
  smtpUrl: 'ESCLUSA_SMTP_URL',
  mailFrom: 'ESCLUSA_MAIL_FROM',
  webhookNetworks: 'ESCLUSA_WEBHOOK_NETWORKS',
  publicUrl: 'ESCLUSA_PUBLIC_URL',
  keepAuditDays: 'ESCLUSA_KEEP_AUDIT_DAYS',
  keepEventsDays: 'ESCLUSA_KEEP_EVENTS_DAYS',
  keepQuarantineDays: 'ESCLUSA_KEEP_QUARANTINE_DAYS',
  keepTransfersDays: 'ESCLUSA_KEEP_TRANSFERS_DAYS',
  keepHistoryDays: 'ESCLUSA_KEEP_HISTORY_DAYS',
  archiveDir: 'ESCLUSA_ARCHIVE_DIR',
  contactQuotaMegabytes: 'ESCLUSA_CONTACT_QUOTA_MEGABYTES',
  contactQuotaFiles: 'ESCLUSA_CONTACT_QUOTA_FILES',
  leastDigest: 'ESCLUSA_LEAST_DIGEST',
  leastCipher: 'ESCLUSA_LEAST_CIPHER',
  leastRsaBits: 'ESCLUSA_LEAST_RSA_BITS',
} as const satisfies Partial<Record<keyof Config, SettingName>>

/** The newest starts that are looked at: those of the nodes at work are among them. */
const STARTS = 100

type Difference = { node: string; setting: SettingName; here: unknown; there: unknown }

export async function warnOfOtherSettings(
  { store, log, owner }: { store: Store; log: Log; owner: string },
  config: Config,
): Promise<void> {
  const differences = await findDifferences(store, owner, config)
  if (differences.length > 0)
    log.warn(
      { differences },
      'another node has other settings: give them all the same ones, which node does what is not fixed',
    )
}

async function findDifferences(store: Store, owner: string, config: Config): Promise<Difference[]> {
  // Engines' names end with the number of their start.
  const engines = await livingOwners(store.db, Date.now())
  const alive = new Set([...engines].map((name) => name.replace(/-\d+$/, '')))
  alive.delete(owner)
  if (alive.size === 0) return []
  const here = shownSettings(config, () => '')
  const starts = await walkAudit(store.db, { action: 'NODE_STARTED' }, { order: 'desc', limit: STARTS })
  return starts
    .filter(({ node }) => alive.has(node))
    .flatMap(({ node, detail }) => {
      const { facts } = JSON.parse(detail) as { facts: { version: string; settings: Recorded } } // written by main.ts
      // Another version may lack a setting, or write it in another way.
      if (facts.version !== VERSION) return []
      const there = facts.settings
      return Object.entries(SAME_ON_ALL)
        .filter(([field]) => JSON.stringify(here[field]) !== JSON.stringify(there[field]))
        .map(([field, setting]) => ({
          node,
          setting,
          here: here[field] ?? 'not set',
          there: there[field] ?? 'not set',
        }))
    })
}

type Recorded = Record<string, unknown>
