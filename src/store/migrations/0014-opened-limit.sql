-- What one received file of the channel may become when it is opened; the node's own limit where it is null.
alter table channel add column max_opened_megabytes integer;
