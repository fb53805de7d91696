-- The hash of the octets as they came, for protocols whose keys may name another file some day (SFTP, folders). Null where
-- it is not needed, and in rows of earlier versions.
alter table received_file add column wire_hash text;
