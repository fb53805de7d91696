-- Failed sign-ins of the last minutes, over every door and node. Account and address are digests: nothing that somebody
-- typed into the wrong field is kept.
create table login_failure (
  account text not null,
  address text not null,
  at bigint not null
);
create index login_failure_pair on login_failure (account, address, at);
create index login_failure_address on login_failure (address, at);
create index login_failure_account on login_failure (account, at);
create index login_failure_at on login_failure (at);

-- Who has to wait: an account at an address, an address, an account.
create table login_lock (
  scope text primary key,
  level integer not null,                  -- the wait doubles with it
  until bigint not null
);

-- From where an account has signed in: such an address is not shut out by what others do elsewhere.
create table login_success (
  account text not null,
  address text not null,
  at bigint not null,
  primary key (account, address)
);
create index login_success_at on login_success (at);

-- An account is known by an id that is never used twice: one made again under the same name is another.
alter table account add column id text;
update account set id = 'account ' || username;

-- Tokens for systems, which live longer than a login: each can be listed and taken back.
create table api_token (
  id text primary key,
  account_id text not null,
  name text not null,
  created_at bigint not null,
  expires_at bigint not null,
  last_used_at bigint,
  revoked_at bigint
);
create index api_token_account on api_token (account_id);

-- Grows with every change of accounts and tokens: how open streams of events hear of it.
insert into meta (name, value) values ('accounts_version', '1');
