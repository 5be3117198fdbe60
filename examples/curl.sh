#!/bin/sh
# A shell script as an agent: it writes one entry and finds it again.
set -eu

curl --silent --show-error --fail "$OPENWOP_URL/v1/host/console/memory" \
    --header "X-API-Key: $OPENWOP_API_KEY" \
    --header "Content-Type: application/json" \
    --data '{"memoryRef": "backups", "content": "The backup of Tuesday is complete",
             "origin": {"system": "shell", "threadId": "backup-tuesday", "node": "verify", "step": 1}}'
echo
curl --silent --show-error --fail --get "$OPENWOP_URL/v1/host/console/memory" \
    --header "X-API-Key: $OPENWOP_API_KEY" \
    --data-urlencode "q=backup tuesday" --data-urlencode "limit=1"
echo
