-- Which program an engine runs. Absent: the first version, which did not say it.
alter table sign_of_life add column version text;

-- Files that are not sent until a person decides: after a restore nobody knows whether the partner has them.
create table held_file (
  id text primary key,
  channel_code text not null references channel (code) on delete cascade,
  path text not null,
  name text not null,
  size bigint not null,
  modified_at bigint not null,
  outbox_id text,                          -- it lies ready for a partner who calls; null: in an outbound directory
  held_at bigint not null,
  dropped_at bigint                        -- decided: it counts as sent for as long as it lies there unchanged
);
create index held_file_channel on held_file (channel_code);

-- What the node does for itself now and then; of several nodes one does it.
create table upkeep_task (
  name text primary key,
  done_at bigint not null,
  held_by text,
  held_until bigint not null
);
