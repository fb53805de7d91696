-- Two states of a file that were spelled by other columns.

-- 1 from the moment just before an outgoing file becomes visible at the partner's end until its outcome is known. It was
-- told by `position` having reached the size of what travels, which only the staged file knows; `wire_hash` is written at
-- the same moment.
alter table transfer_file add column maybe_visible integer not null default 0;
update transfer_file set maybe_visible = 1 where phase = 'STAGED' and wire_hash is not null;

-- FILE, or CERTIFICATE for what a key-exchange channel carries: that belongs to no directory, which was told by -1.
alter table transfer_file add column content text not null default 'FILE';
update transfer_file set content = 'CERTIFICATE' where directory = -1;
