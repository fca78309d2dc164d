#!/bin/sh
# Run once by the image, on an empty data directory: Holdpoint's own user and database, beside Temporal's.
set -eu
psql -v ON_ERROR_STOP=1 -v password="$HOLDPOINT_DB_PASSWORD" -U "$POSTGRES_USER" <<'SQL'
CREATE ROLE holdpoint LOGIN PASSWORD :'password';
CREATE DATABASE holdpoint OWNER holdpoint;
REVOKE CONNECT ON DATABASE holdpoint FROM PUBLIC;
SQL
