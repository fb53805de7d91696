-- After a failed automatic emission a channel waits before the next one.
alter table automation_run add column failures integer not null default 0;
alter table automation_run add column wait_until bigint not null default 0;
-- What the last one was tried with: its files and the channel's configuration, as a hash.
alter table automation_run add column tried text;
