#!/bin/sh
# What the image `all` starts, in its volume: `querybus connect` where DATABASE_URL names a database, else `querybus up`, which
# takes connections.yaml of the volume, or makes the demo shop. PORT is where the page and the API listen.
set -e
command=$(dirname "$0")/querybus
if [ -n "${DATABASE_URL:-}" ]; then
  # By the environment, not as an argument: everybody on the host sees the arguments of a process.
  exec "$command" connect --yes --file connections.yaml --store store --port "${PORT:-8080}"
fi
exec "$command" up --store store --port "${PORT:-8080}"
