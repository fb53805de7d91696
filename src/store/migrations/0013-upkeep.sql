-- Which program an engine runs. Absent: the first version, which did not say it.
alter table sign_of_life add column version text;
