"""What of a table may name a person, declared on its model as ``personal``: the erasers of a forget work from it. What
of its text may not is ``impersonal``, by column, with the reason."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

# Why a column with text never holds a person's data.
PRINCIPAL = "the id of an operator or key"
DIGEST = "a digest"
STATE = "one of the host's own states"
NODE = "an id of the workflow's definition, which is counted under installed artifacts"
CODE = "one of the host's own codes"
HOLDER = "the id of a worker process"
KIND = "one of the host's own kinds"
TRACE = "the ids of a trace, which are random"
ERASED = "[erased]"  # what a reason reads after a forget, beside the event log and beside the audit
TIME = "a cron expression, a duration or a time zone"
ROLES = "names of roles and scopes"


@dataclass(frozen=True, slots=True)
class Personal:
    """The columns of a table that a forget looks through, and what becomes of a row that names the subject.

    Unless something else is said here, every string that names the subject is replaced as a whole, in ``columns``; when
    none is listed, in all that hold words. ``store`` is the name on previews and receipts, which stays for good.
    """

    store: str
    columns: tuple[str, ...] = ()
    # Columns of text that hold JSON, which is looked through as what it says: no escape hides a name.
    json_text: tuple[str, ...] = ()
    # The prefix of the wire id of what has a page, and the column with that id; no prefix when nothing has.
    page: tuple[str, str] = ("", "id")
    # How many rows are in memory at a time, where one may have a megabyte.
    at_once: int | None = None

    # The row goes as a whole, or stays with these values.
    deleted: bool = False
    blanked: Mapping[str, Any] = field(default_factory=dict)
    # Columns in which a value that named the subject is replaced by one that no other row has; in a list, each item.
    unnamed: tuple[str, ...] = ()
    # What named the subject is empty; a list loses the items that did.
    emptied: bool = False
    shortened: bool = False
    # Further values of a row that was changed, unless that was in ``harmless`` columns alone.
    along: Mapping[str, Any] = field(default_factory=dict)
    harmless: tuple[str, ...] = ()

    # The link to the run whose workflow declares values sensitive, which are shown to nobody; "self" for a run.
    sensitive_of: str = ""
    # The rows are changed under the lock of that run, as by everybody else.
    under_lock_of_run: bool = False
    # What a person who decides about a row is shown, where that is not the columns as they are.
    shown: Callable[[Any], list[str]] | None = None

    @property
    def goes_whole(self) -> bool:
        return self.deleted or bool(self.blanked)
