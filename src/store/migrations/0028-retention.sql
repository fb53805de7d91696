-- What is old may go. Positions of what is left stay as they are: of a channel's history and transfers the first so many
-- are gone, and lists begin after them.
alter table channel_state add column history_gone bigint not null default 0;
alter table channel_state add column transfers_gone bigint not null default 0;

-- How long this channel's transfers and history are kept, where it differs from the settings.
alter table channel add column keep text;

-- When upkeep first saw an entry of the two memories of files; 0: not yet. Their age is counted from then.
alter table sent_file add column seen_at bigint not null default 0;
alter table received_file add column seen_at bigint not null default 0;
create index sent_file_seen on sent_file (channel_code, seen_at);
create index received_file_seen on received_file (channel_code, seen_at);
