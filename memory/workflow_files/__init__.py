"""The YAML file that declares a workflow and its memory (RFC-0015 7; R83 to R87)."""

from memory.workflow_files.documents import AgentBlock, Parsed, Problem, Step, Workflow
from memory.workflow_files.importing import SCOPE, Brought, Standing, bring_in, document, foresee, standing
from memory.workflow_files.parsing import parse
from memory.workflow_files.trees import MAX_BYTES, lines_of

__all__ = [
    "MAX_BYTES",
    "SCOPE",
    "AgentBlock",
    "Brought",
    "Parsed",
    "Problem",
    "Standing",
    "Step",
    "Workflow",
    "bring_in",
    "document",
    "foresee",
    "lines_of",
    "parse",
    "standing",
]
