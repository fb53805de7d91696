-- Automatic fetches that failed in a row, the revision of the channel they failed with, and when the next one is due at
-- the earliest.
alter table automation_run add column fetch_failures integer not null default 0;
alter table automation_run add column fetch_revision integer not null default 0;
alter table automation_run add column fetch_wait_until bigint not null default 0;
