-- Who did what, when, from where. Rows are only ever added, in the transaction of what they tell. `seq` and `hash` put a
-- row into the chain a moment later (audit/sealer.ts): a chain built inside those transactions would let only one of
-- them through at a time.
create table audit (
  id text primary key,                     -- UUID version 7: in the order of writing
  at bigint not null,
  node text not null,                      -- which process wrote it
  who text,                                -- username; null: nobody known, or the node itself
  via text not null,
  token_id text,
  address text,
  action text not null,
  outcome text not null,
  subject_kind text,
  subject text,
  channel_code text,                       -- no reference: the trail outlives the channel
  detail text not null,                    -- JSON: changes, note, facts
  mac text not null,                       -- only the node can make it
  seq bigint,                              -- place in the chain, from 1; null until it has one
  hash text
);
create unique index audit_seq on audit (seq) where seq is not null;
create index audit_open on audit (id) where seq is null;
create index audit_who on audit (who, id) where who is not null;
create index audit_action on audit (action, id);
create index audit_subject on audit (subject_kind, subject, id) where subject is not null;
create index audit_channel on audit (channel_code, id) where channel_code is not null;

-- Two signed points of the chain. `last`: how far it goes. `start`: the last row that retention took away, from which
-- the rows that are left go on.
create table audit_head (
  name text primary key,
  seq bigint not null,
  hash text not null,
  at bigint not null,
  signature text not null
);

-- Which row of the trail tells who made a change that the channel's history shows, and what was changed.
alter table history add column audit_id text;
