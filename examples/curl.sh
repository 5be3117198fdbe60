#!/bin/sh
# A shell script as an agent: it writes one entry and finds it again.
set -eu
MEMORY="${OPENWOP_URL%/}/v1/host/console/memory"

curl --silent --show-error --fail-with-body "$MEMORY" \
    --header "X-API-Key: $OPENWOP_API_KEY" \
    --header "Content-Type: application/json" \
    --data '{"memoryRef": "backups", "content": "The backup of Tuesday is complete",
             "origin": {"system": "shell", "threadId": "backup-tuesday", "node": "verify", "step": 1}}'
echo
curl --silent --show-error --fail-with-body --get "$MEMORY" \
    --header "X-API-Key: $OPENWOP_API_KEY" \
    --data-urlencode "q=backup tuesday" --data-urlencode "limit=1"
echo
