-- One text for SQLite and PostgreSQL: text ids, times as integer milliseconds UTC, flags as 0/1, JSON as text.

create table meta (
  name text primary key,
  value text not null
);
-- Grows whenever codes, contacts or user lists of channels change: what keeps each node's directory fresh.
insert into meta (name, value) values ('directory_version', '1');

create table local_entity (
  code text primary key,
  name text not null,
  oftp2_id text
);

create table account (
  username text primary key,
  email text not null,
  email_key text not null unique,          -- lower case: the v1 login ignores case
  name text,
  last_name text,
  second_last_name text,
  language text not null,
  role text not null,
  auths text not null,
  password_hash text,                      -- null: no login by password, tokens only
  credential_version integer not null,     -- tokens carry it; a new password makes older tokens void
  disabled integer not null
);

create table contact (
  id text primary key,
  protocol text not null,
  data text not null,                      -- what the interface shows, people included
  settings text not null,                  -- oftp2, sftp, folder, access sections without secrets
  secrets text not null                    -- sealed
);

create table channel (
  code text primary key,
  id text not null unique,
  contact_id text not null references contact (id),
  local_code text not null references local_entity (code),
  alias text,
  config text not null,                    -- the Channel without its four secret fields
  secrets text not null,                   -- those four, sealed one by one
  automation text,
  revision integer not null
);
create index channel_contact on channel (contact_id, code);
create index channel_automated on channel (code) where automation is not null;

-- Counters in a row of their own: every writer of a channel's history or transfers locks this row first.
create table channel_state (
  code text primary key references channel (code) on delete cascade,
  history_count bigint not null,
  transfer_count bigint not null
);

create table history (
  channel_code text not null references channel (code) on delete cascade,
  position bigint not null,                -- 1, 2, 3 … without a gap: pages need no counting
  at bigint not null,
  event text not null,
  detail text,
  primary key (channel_code, position)
);

create table transfer (
  id text primary key,
  channel_code text not null references channel (code) on delete cascade,
  direction text not null,
  state text not null,
  type text not null,
  encryption integer not null,
  error text,
  error_code text,
  requested_by text,
  requested_at bigint not null,
  started_at bigint,
  ended_at bigint,
  listed_at bigint not null,               -- start, or request until there is one: the order of lists
  position bigint not null,                -- rank by (listed_at, id) in its channel, without a gap
  retry_of text,
  settled integer not null,                -- a failure that was retried or reset
  attempts integer not null,
  due_at bigint not null,
  lease_owner text,
  lease_until bigint,
  receipts_until bigint,                   -- every file has arrived; their receipts must come before this
  fence bigint not null,                   -- grows at each claim; a writer with an older one is refused
  snapshot text,                           -- the configuration it started with, while it is not over
  output text                              -- what integration scripts printed
);
-- The database itself allows one active transfer per channel and direction.
create unique index transfer_active on transfer (channel_code, direction) where state in ('PENDING', 'IN_PROGRESS');
create index transfer_position on transfer (channel_code, position);
create index transfer_listed on transfer (channel_code, listed_at, id, position);
create index transfer_due on transfer (due_at) where state in ('PENDING', 'IN_PROGRESS');
create index transfer_last on transfer (channel_code, ended_at) where ended_at is not null;
create index transfer_ended on transfer (ended_at, state) where ended_at is not null;
create index transfer_open on transfer (state, channel_code) where state in ('PENDING', 'IN_PROGRESS');

create table transfer_file (
  transfer_id text not null references transfer (id) on delete cascade,
  idx integer not null,
  directory integer not null,              -- which entry of the channel's directories it belongs to
  name text not null,
  path text not null,
  size bigint,
  modified_at bigint,
  hash text,
  phase text not null,
  position bigint not null,                -- octets safe at the other end (out) or here (in)
  key_name text not null,                  -- with date and time what names the file between the two ends
  key_date text not null,
  key_time text not null,
  staged_path text,
  wire_hash text,
  receipt text not null,
  action_post text,
  path_post text,
  primary key (transfer_id, idx)
);
create index transfer_file_receipt on transfer_file (key_date, key_time) where receipt = 'AWAITED';

-- What was sent with success: the memory behind allowSendDuplicateFiles.
create table sent_file (
  channel_code text not null references channel (code) on delete cascade,
  name text not null,
  hash text not null,
  size bigint not null,
  primary key (channel_code, name, hash)
);

-- What was received, by the partner's own key: a file offered again after a lost acknowledgement is not delivered twice.
create table received_file (
  channel_code text not null references channel (code) on delete cascade,
  key_name text not null,
  key_date text not null,
  key_time text not null,
  transfer_id text not null,
  size bigint not null,
  primary key (channel_code, key_name, key_date, key_time)
);

-- Files that came in half: a partner that offers the same key again may go on from `position`.
create table partial_file (
  channel_code text not null references channel (code) on delete cascade,
  key_name text not null,
  key_date text not null,
  key_time text not null,
  path text not null,
  position bigint not null,
  updated_at bigint not null,
  primary key (channel_code, key_name, key_date, key_time)
);

create table owed_receipt (
  id text primary key,
  contact_id text not null references contact (id) on delete cascade,
  body text not null,
  created_at bigint not null,
  delivered_at bigint
);
create index owed_receipt_open on owed_receipt (contact_id, created_at) where delivered_at is null;

-- The circuit breaker: after failures in a row a partner is probed once, when `open_until` has passed.
create table partner_health (
  contact_id text primary key references contact (id) on delete cascade,
  failures integer not null,
  open_until bigint not null,
  error text,
  probed_by text
);

create table key_proposal (
  id text primary key,
  contact_id text not null references contact (id) on delete cascade,
  channel_code text not null,
  pem text not null,
  fingerprint text not null,
  received_at bigint not null,
  accepted_at bigint
);

-- When a channel's automation last ran, and who is at it: of several nodes one takes each turn.
create table automation_run (
  channel_code text primary key references channel (code) on delete cascade,
  ran_at bigint not null,
  held_by text,
  held_until bigint not null
);

-- Files that wait for a partner who calls to take them (SFTP): a copy of our own, so the original may be dealt with.
create table outbox_file (
  id text primary key,
  channel_code text not null references channel (code) on delete cascade,
  name text not null,
  path text not null,
  size bigint not null,
  modified_at bigint not null,
  transfer_id text not null,
  idx integer not null,
  taken_at bigint
);
create unique index outbox_file_waiting on outbox_file (channel_code, name) where taken_at is null;
