-- What lies ready of one transfer is withdrawn when it fails, and goes with it in the end: without going through the rest.
create index outbox_file_transfer on outbox_file (transfer_id);
