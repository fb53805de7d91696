-- What the console's pages need: transfers of all channels found whatever their number, sessions that a browser keeps,
-- and why a transfer was sent again.

-- Finished transfers by what they are filtered by: any choice of states, directions and types is a few ranges of this
-- index, each in the order of lists. A transfer enters it once, when it ends; those under way have an index already.
create index transfer_done on transfer (state, direction, type, listed_at, id) where ended_at is not null;

-- File names in lower case as octets: both databases compare octets alike, whatever their collation, so names that
-- begin with something are a range. Null until somebody fills it in (store/transfers/file-names.ts).
alter table transfer_file add column name_key bytea;
create index transfer_file_name on transfer_file (name_key, transfer_id) where name_key is not null;
create index transfer_file_unnamed on transfer_file (transfer_id) where name_key is null;
create index transfer_file_hash on transfer_file (hash, transfer_id) where hash is not null;

alter table transfer add column comment text;
alter table transfer add column resend_of text;
create index transfer_resend on transfer (resend_of) where resend_of is not null;

create table console_session (
  id text primary key,
  secret_hash text not null unique,        -- the cookie itself is nowhere
  username text not null,
  credential_version integer not null,
  created_at bigint not null,
  seen_at bigint not null,
  expires_at bigint not null,
  address text,
  agent text
);
create index console_session_user on console_session (username, created_at);
create index console_session_expiry on console_session (expires_at);
