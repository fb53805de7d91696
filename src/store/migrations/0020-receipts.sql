-- What the partner's receipt said and when it came: kept with the file, also where it came after its deadline.
alter table transfer_file add column receipt_reason text;
alter table transfer_file add column receipt_at bigint;
