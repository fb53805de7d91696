// The rows of the database, column by column. Only the store knows them: each query file turns its rows into what the
// rest of the node works with.

import type { Generated } from 'kysely'

export type Tables = {
  meta: { name: string; value: string }
  local_entity: { code: string; name: string; oftp2_id: string | null; file_roots: string | null }
  account: AccountRow
  contact: {
    id: string
    protocol: string
    data: string
    settings: string
    secrets: string
    compression_refused_at: Generated<number | null>
  }
  channel: ChannelRow
  channel_state: {
    code: string
    history_count: number
    transfer_count: number
    history_gone: Generated<number>
    transfers_gone: Generated<number>
    error_id: string | null
    emission_error_id: string | null
    reception_error_id: string | null
  }
  channel_keys: { channel_code: string; channel_id: string; revision: number; keys: string }
  history: HistoryRow
  audit: AuditRow
  console_session: ConsoleSessionRow
  audit_head: { name: string; seq: number; hash: string; at: number; signature: string }
  transfer: TransferRow
  transfer_file: TransferFileRow
  transfer_hour: TransferHourRow
  transfer_trace: { transfer_id: string; traceparent: string }
  sent_file: { channel_code: string; name: string; hash: string; size: number; seen_at: Generated<number> }
  received_file: FileKeyRow & {
    transfer_id: string
    size: number
    seen_at: Generated<number>
    wire_hash: Generated<string | null>
  }
  partial_file: FileKeyRow & { path: string; position: number; updated_at: number }
  owed_receipt: {
    id: string
    contact_id: string
    body: string
    created_at: number
    delivered_at: number | null
  }
  partner_health: {
    contact_id: string
    failures: number
    open_until: number
    error: string | null
    probed_by: string | null
  }
  sign_of_life: { owner: string; alive_until: number; lost: Generated<number>; version: string | null }
  event_outbox: EventColumns & { seq: Generated<number> }
  event: EventColumns & { position: number; id: string }
  subscription: SubscriptionRow
  delivery: DeliveryRow
  calendar: { id: string; definition: string }
  expectation: ExpectationRow
  expectation_day: ExpectationDayRow
  key_notice: { fingerprint: string; days: number; told_at: number }
  automation_run: {
    channel_code: string
    ran_at: number
    held_by: string | null
    held_until: number
    failures: Generated<number>
    wait_until: Generated<number>
    tried: string | null
    fetch_failures: Generated<number>
    fetch_revision: Generated<number>
    fetch_wait_until: Generated<number>
  }
  outbox_file: {
    id: string
    channel_code: string
    name: string
    path: string
    size: number
    modified_at: number
    transfer_id: string
    idx: number
    taken_at: number | null
  }
  held_file: {
    id: string
    channel_code: string
    path: string
    name: string
    size: number
    modified_at: number
    outbox_id: string | null
    held_at: number
    dropped_at: number | null
  }
  login_failure: { account: string; address: string; at: number }
  login_lock: { scope: string; level: number; until: number }
  login_success: { account: string; address: string; at: number }
  api_token: {
    id: string
    account_id: string
    name: string
    created_at: number
    expires_at: number
    last_used_at: number | null
    revoked_at: number | null
  }
  upkeep_task: { name: string; done_at: number; held_by: string | null; held_until: number }
  quarantined_file: {
    id: string
    transfer_id: string
    channel_code: string
    name: string
    path: string
    size: number
    hash: string
    opened_path: string | null
    opened_size: number | null
    opened_hash: string | null
    code: string
    reason: string
    quarantined_at: number
    state: string
    target: string | null
    opened_mark: string | null
    decided_at: number | null
    decided_by: string | null
  }
  key_proposal: {
    id: string
    contact_id: string
    channel_code: string
    pem: string
    fingerprint: string
    received_at: number
    accepted_at: number | null
    refused_at: number | null
    decided_by: string | null
  }
}

export type HistoryRow = {
  channel_code: string
  position: number
  at: number
  event: string
  detail: string | null
  audit_id: string | null
}

export type AuditRow = {
  id: string
  at: number
  node: string
  who: string | null
  via: string
  token_id: string | null
  address: string | null
  action: string
  outcome: string
  subject_kind: string | null
  subject: string | null
  channel_code: string | null
  detail: string
  mac: string
  seq: number | null
  hash: string | null
}

export type ConsoleSessionRow = {
  id: string
  secret_hash: string
  username: string
  credential_version: number
  created_at: number
  seen_at: number
  expires_at: number
  address: string | null
  agent: string | null
  account_id: string | null
}

export type FileKeyRow = { channel_code: string; key_name: string; key_date: string; key_time: string }

export type AccountRow = {
  id: string | null
  username: string
  email: string
  email_key: string
  name: string | null
  last_name: string | null
  second_last_name: string | null
  language: string
  role: string
  auths: string
  password_hash: string | null
  credential_version: number
  disabled: number
  login_version: number
}

export type ChannelRow = {
  code: string
  id: string
  contact_id: string
  local_code: string
  alias: string | null
  config: string
  secrets: string
  automation: string | null
  calendar: string | null
  keep: string | null
  max_opened_megabytes: number | null
  revision: number
}

export type TransferRow = {
  id: string
  channel_code: string
  direction: string
  state: string
  type: string
  encryption: number
  error: string | null
  error_code: string | null
  requested_by: string | null
  requested_at: number
  started_at: number | null
  ended_at: number | null
  listed_at: number
  position: number
  retry_of: string | null
  settled: number
  attempts: number
  due_at: number
  lease_owner: string | null
  lease_until: number | null
  receipts_until: number | null
  fence: number
  snapshot: string | null
  output: string | null
  comment: string | null
  resend_of: string | null
}

export type TransferHourRow = {
  hour: number
  channel_code: string
  completed: number
  failed: number
  cancelled: number
  bytes: number
}

export type TransferFileRow = {
  transfer_id: string
  idx: number
  directory: number
  name: string
  path: string
  size: number | null
  modified_at: number | null
  hash: string | null
  phase: string
  position: number
  /** 0 or 1 */
  maybe_visible: number
  content: string
  key_name: string
  key_date: string
  key_time: string
  staged_path: string | null
  wire_hash: string | null
  receipt: string
  /** What it said, where that is more than yes; and when it came. */
  receipt_reason: string | null
  receipt_at: number | null
  action_post: string | null
  path_post: string | null
  name_key: Buffer | null
}

export type EventColumns = {
  at: number
  type: string
  channel_code: string | null
  contact_id: string | null
  body: string
}

export type SubscriptionRow = {
  id: string
  kind: string
  settings: string
  secrets: string
  state: string
  off_at: number | null
  off_reason: string | null
  failures: number
  failing_since: number | null
  mail_after: number
  lease_owner: string | null
  lease_until: number
}

export type DeliveryRow = {
  subscription_id: string
  position: number
  lane: string
  state: string
  attempts: number
  due_at: number
  batch: string | null
  tries: string
  ended_at: number | null
}

export type ExpectationRow = {
  id: string
  channel_code: string
  definition: string
  planned_through: string
  plan_at: number
}

export type ExpectationDayRow = {
  expectation_id: string
  day: string
  channel_code: string
  direction: string
  files: string | null
  at_least: number
  at_most: number | null
  opens_at: number
  warns_at: number | null
  closes_at: number
  listens_until: number
  state: string
  count: number
  changed_at: number
  next_at: number | null
  acknowledged_by: string | null
  acknowledged_at: number | null
  comment: string | null
}
