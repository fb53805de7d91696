-- The trace that a transfer belongs to, where whoever asked for it named one (W3C Trace Context).
create table transfer_trace (
  transfer_id text primary key references transfer (id) on delete cascade,
  traceparent text not null
);
