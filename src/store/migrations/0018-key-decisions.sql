-- A partner's proposed key may be refused, and whoever decides is remembered.
alter table key_proposal add column refused_at bigint;
alter table key_proposal add column decided_by text;
create index key_proposal_contact on key_proposal (contact_id, received_at);
