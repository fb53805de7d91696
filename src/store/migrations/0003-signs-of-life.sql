-- One row for each engine at work, renewed while it lives: whatever it holds (transfers, turns of the automation) is its
-- own as long as this says so, however many there are. Nobody else writes a row, so a renewal waits for nobody.
create table sign_of_life (
  owner text primary key,
  alive_until bigint not null
);
