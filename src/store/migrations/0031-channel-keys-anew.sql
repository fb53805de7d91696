-- Where the chain stood in front of our own certificate, the authority's was kept as ours. All are found out again.
update channel_keys set revision = -1;
