-- What is public of each channel's keys, so that lists need not open them. It holds for the channel of this id in this
-- revision alone: after a change by whomever it is found out again.
create table channel_keys (
  channel_code text primary key references channel (code) on delete cascade,
  channel_id text not null,
  revision integer not null,
  keys text not null
);

-- Which channels have changed is seen without reading their configuration.
create index channel_versions on channel (code, id, revision, contact_id);
