-- Whose a console's session is, by the id that is never used twice.
alter table console_session add column account_id text;

-- Grows when somebody signs out everywhere: logins older than that are over. Tokens for systems do not carry it.
alter table account add column login_version integer not null default 0;
