#!/bin/sh
# Ask one question with the nats command line, which is not run by the tests.  ./ask.sh "How many customers are there?"
nats --server "$QUERYBUS_NATS_URL" --user "$QUERYBUS_TENANT.$QUERYBUS_CREDENTIAL" \
  --password "$QUERYBUS_CREDENTIAL_PASSWORD" --inbox-prefix "_INBOX.out.$QUERYBUS_TENANT.$QUERYBUS_CREDENTIAL" \
  request --timeout 35s "querybus.v1.call.$QUERYBUS_TENANT.$QUERYBUS_CREDENTIAL.ask" \
  "{\"question\": \"$1\", \"connection\": \"$QUERYBUS_CONNECTION\", \"wait_seconds\": 30}"
