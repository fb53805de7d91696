-- What the node tells: events, who is told of them, and what is expected.

-- Written in the transaction of what it tells, and nothing else: no index slows that write. Events become visible in the
-- order of commits, not of writes, so they get their position later, from whoever moves them to `event`.
create table event_outbox (
  seq bigserial,                           -- PostgreSQL counts here; SQLite leaves it empty and counts rows by itself
  at bigint not null,
  type text not null,
  channel_code text,
  contact_id text,
  body text not null
);

-- In the order in which they became visible: whoever has read up to a position has missed nothing before it.
create table event (
  position bigint primary key,             -- 1, 2, 3 … without a gap
  id text not null unique,                 -- a UUID of version 7 that holds the position: sorts as it does
  at bigint not null,                      -- when it happened
  type text not null,
  channel_code text,                       -- kept when the channel is gone
  contact_id text,
  body text not null
);
create index event_channel on event (channel_code, position) where channel_code is not null;
create index event_type on event (type, position);
create index event_at on event (at);
-- The last position, and the time in the last id: held locked by whoever gives out the next ones.
insert into meta (name, value) values ('event_position', '0 0');

-- Signs of life that ended without a farewell are told once.
alter table sign_of_life add column lost integer not null default 0;

create table subscription (
  id text primary key,
  kind text not null,                      -- webhook or mail
  settings text not null,
  secrets text not null,                   -- sealed
  state text not null,                     -- ON or OFF
  off_at bigint,
  off_reason text,
  failures integer not null,               -- attempts in a row that failed
  failing_since bigint,
  mail_after bigint not null,              -- no mail before this, so that a storm becomes one
  lease_owner text,                        -- the node that delivers, while it renews this
  lease_until bigint not null
);

-- One event for one subscription.
create table delivery (
  subscription_id text not null references subscription (id) on delete cascade,
  position bigint not null references event (position) on delete cascade,
  lane text not null,                      -- what is kept in order: the channel
  state text not null,                     -- PENDING, DELIVERED or FAILED
  attempts integer not null,
  due_at bigint not null,
  batch text,                              -- the mail that tells it, once that is made
  tries text not null,                     -- what became of each attempt
  ended_at bigint,
  primary key (subscription_id, position)
);
create index delivery_pending on delivery (subscription_id, due_at, position) where state = 'PENDING';
create index delivery_position on delivery (position);

create table calendar (
  id text primary key,
  definition text not null
);

create table expectation (
  id text primary key,
  channel_code text not null references channel (code) on delete cascade,
  definition text not null,
  planned_through text not null,           -- the last day that has a row in expectation_day
  plan_at bigint not null                  -- when the next one is to be made
);
create index expectation_plan on expectation (plan_at);
create index expectation_channel on expectation (channel_code);

create table expectation_day (
  expectation_id text not null references expectation (id) on delete cascade,
  day text not null,
  channel_code text not null,
  direction text not null,
  files text,
  at_least integer not null,
  at_most integer,
  opens_at bigint not null,
  warns_at bigint,
  closes_at bigint not null,
  listens_until bigint not null,           -- when the next day's window opens: what comes later is its own
  state text not null,
  count integer not null,
  changed_at bigint not null,
  next_at bigint,                          -- when the clock has something to decide; null: nothing any more
  acknowledged_by text,
  acknowledged_at bigint,
  comment text,
  primary key (expectation_id, day)
);
create index expectation_day_due on expectation_day (next_at) where next_at is not null;
create index expectation_day_channel on expectation_day (channel_code, listens_until);
create index expectation_day_day on expectation_day (day, expectation_id);

-- Keys that are about to expire, each told once per span of days.
create table key_notice (
  fingerprint text not null,
  days integer not null,
  told_at bigint not null,
  primary key (fingerprint, days)
);

-- Whose working days a channel is open on.
alter table channel add column calendar text;
