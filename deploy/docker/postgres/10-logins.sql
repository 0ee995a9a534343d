-- Runs once, in an empty database. Each service logs in as itself and may become the role that holds its grants, so a
-- service that is taken over reaches its own schema and no other. Migrations run as the owner (POSTGRES_USER).
\getenv identity_password IDENTITY_PASSWORD
\getenv catalog_password CATALOG_PASSWORD
\getenv payments_ledger_password PAYMENTS_LEDGER_PASSWORD
\getenv gateway_password GATEWAY_PASSWORD
\getenv reputation_password REPUTATION_PASSWORD

CREATE ROLE market_identity NOLOGIN;
CREATE ROLE market_catalog NOLOGIN;
CREATE ROLE market_payments_ledger NOLOGIN;
CREATE ROLE market_gateway NOLOGIN;
CREATE ROLE market_reputation NOLOGIN;

CREATE ROLE identity LOGIN NOINHERIT PASSWORD :'identity_password' IN ROLE market_identity;
CREATE ROLE catalog LOGIN NOINHERIT PASSWORD :'catalog_password' IN ROLE market_catalog;
CREATE ROLE payments_ledger LOGIN NOINHERIT PASSWORD :'payments_ledger_password' IN ROLE market_payments_ledger;
CREATE ROLE gateway LOGIN NOINHERIT PASSWORD :'gateway_password' IN ROLE market_gateway;
CREATE ROLE reputation LOGIN NOINHERIT PASSWORD :'reputation_password' IN ROLE market_reputation;
