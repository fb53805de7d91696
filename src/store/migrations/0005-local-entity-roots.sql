-- Where the directories of a local entity's channels must lie: a JSON list, or null for all of the node's file roots.
alter table local_entity add column file_roots text;
