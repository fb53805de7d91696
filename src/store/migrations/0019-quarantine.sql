-- Received files that did not pass their checks, and what became of them. The row outlives the file and its channel.
create table quarantined_file (
  id text primary key,
  transfer_id text not null,
  channel_code text not null,
  name text not null,
  path text not null unique,               -- the bytes as they came
  size bigint not null,
  hash text not null,
  opened_path text,                        -- the file itself; null: it could not be opened, nothing can be released
  opened_size bigint,
  opened_hash text,
  code text not null,
  reason text not null,
  quarantined_at bigint not null,
  state text not null,                     -- WAITING, then RELEASING and RELEASED, or DISCARDING and DISCARDED
  target text,                             -- where it is released to
  opened_mark text,                        -- which inode it was when the release began: it changes when it is linked
  decided_at bigint,
  decided_by text
);
create index quarantined_file_listed on quarantined_file (quarantined_at, id);
create index quarantined_file_under_way on quarantined_file (decided_at) where state in ('RELEASING', 'DISCARDING');
