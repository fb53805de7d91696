-- What the overview of the whole platform reads, so that it costs the same with a million transfers as with a few.

-- Transfers that ended and bytes that arrived, by hour (milliseconds / 3600000) and channel: who may not reach a channel
-- must not see it in a sum.
create table transfer_hour (
  hour bigint not null,
  channel_code text not null references channel (code) on delete cascade,
  completed bigint not null,
  failed bigint not null,
  cancelled bigint not null,
  bytes bigint not null,
  primary key (hour, channel_code)
);
create index transfer_hour_channel on transfer_hour (channel_code);

insert into transfer_hour (hour, channel_code, completed, failed, cancelled, bytes)
select t.ended_at / 3600000, t.channel_code,
  sum(case when t.state = 'COMPLETED' then 1 else 0 end),
  sum(case when t.state = 'FAILED' then 1 else 0 end),
  sum(case when t.state = 'CANCELLED' then 1 else 0 end),
  cast(coalesce(sum(case when t.state = 'COMPLETED'
    then (select sum(f.size) from transfer_file f where f.transfer_id = t.id) end), 0) as bigint)
from transfer t where t.ended_at is not null group by t.ended_at / 3600000, t.channel_code;

-- The failure that puts a channel in ERROR: its last transfer that ended, while neither retried nor reset.
alter table channel_state add column error_id text;
create index channel_state_error on channel_state (error_id, code) where error_id is not null;

update channel_state set error_id = (
  select case when t.state = 'FAILED' and t.settled = 0 then t.id end from transfer t
  where t.channel_code = channel_state.code and t.ended_at is not null
  order by t.ended_at desc, t.position desc limit 1);

-- Grows with every change of a channel: how a node knows that what it keeps of channels is still right.
insert into meta (name, value) values ('channels_version', '1');

create index transfer_failed on transfer (ended_at, id, channel_code) where state = 'FAILED';
create index transfer_retry on transfer (retry_of) where retry_of is not null;
