-- A failure puts its channel in ERROR until a later transfer in the same direction, a retry or a reset; the other
-- direction does not matter. So there is one for each. `error_id` is still written, for nodes of the version before.
alter table channel_state add column emission_error_id text;
alter table channel_state add column reception_error_id text;
create index channel_state_errors on channel_state (code)
  where emission_error_id is not null or reception_error_id is not null;

create index transfer_last_each_way on transfer (channel_code, direction, ended_at) where ended_at is not null;
-- Failures that nobody has dealt with, and those of them that can be retried from here: what the partner started can
-- not.
create index transfer_unsettled on transfer (channel_code, ended_at) where state = 'FAILED' and settled = 0;
create index transfer_retriable on transfer (channel_code, ended_at)
  where state = 'FAILED' and settled = 0 and (direction = 'EMISION' or type <> 'REMOTE');

update channel_state set
  emission_error_id = (
    select case when t.state = 'FAILED' and t.settled = 0 then t.id end from transfer t
    where t.channel_code = channel_state.code and t.direction = 'EMISION' and t.ended_at is not null
    order by t.ended_at desc, t.position desc limit 1),
  reception_error_id = (
    select case when t.state = 'FAILED' and t.settled = 0 then t.id end from transfer t
    where t.channel_code = channel_state.code and t.direction = 'RECEPCION' and t.ended_at is not null
    order by t.ended_at desc, t.position desc limit 1);
