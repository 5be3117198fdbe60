"""What a synthesis answers, as JSON Schema: for the OpenAPI document."""

from memory.api.openwop.passes import WORK
from memory.host.operations import closed

SYNTHESIS = closed("Synthesis", **WORK)
