-- When the partner last refused a compressed envelope: until it is forgotten, its files go without.
alter table contact add column compression_refused_at bigint;
