"""What another version of an agent pack changes (RFC 0003): which agents, and what each of them may do and keeps."""

from typing import Any

from proposals.summaries.lines import Line, by, change, gain, loss, named, sets, value, words_in

MEMORY = {"scratchpad": "a scratchpad", "conversation": "its conversation", "longTerm": "what lasts across runs"}

Document = dict[str, Any]


def compare(old: Document, new: Document) -> list[Line]:
    before, after = by(old.get("agents", ()), "agentId"), by(new.get("agents", ()), "agentId")
    return [
        *value("Version", old.get("version"), new.get("version")),
        *sets("Agents", before, after),
        *(line for name in after for line in _agent(name, before.get(name, {}), after[name])),
        *sets("Permissions of the pack", _requires(old), _requires(new)),
        *sets("Capabilities it needs of the host", old.get("peerDependencies", ()), new.get("peerDependencies", ())),
    ]


def _requires(pack: Document) -> list[str]:
    return list(pack.get("runtime", {}).get("requires", ()))


def _agent(name: str, old: Any, new: Any) -> list[Line]:
    """What changes about one agent; everything of one that is new."""
    who = named(name)
    return [
        *sets(f"Tools of {who}", old.get("toolAllowlist", ()), new.get("toolAllowlist", ())),
        *_memory(who, old.get("memoryShape", {}), new.get("memoryShape", {})),
        *sets(f"Capabilities of {who}", old.get("requiresCapabilities", ()), new.get("requiresCapabilities", ())),
        *(value(f"Persona of {who}", old.get("persona"), new.get("persona")) if old else ()),
        *value(f"Model class of {who}", old.get("modelClass"), new.get("modelClass")),
        *_confidence(who, old, new),
        *words_in(f"Prompt of {who}", str(old.get("systemPrompt", "")), str(new.get("systemPrompt", ""))),
    ]


def _memory(who: str, old: dict[str, bool], new: dict[str, bool]) -> list[Line]:
    lines = []
    for key, words in MEMORY.items():
        before, after = old.get(key) is True, new.get(key) is True
        if after and not before:
            lines.append(gain(f"Memory of {who}: {words}"))
        elif before and not after:
            lines.append(loss(f"Memory of {who}: {words}"))
    return lines


def _confidence(who: str, old: Any, new: Any) -> list[Line]:
    before = old.get("confidence", {}).get("defaultThreshold")
    after = new.get("confidence", {}).get("defaultThreshold")
    if before == after:
        return []
    return [change(f"Confidence threshold of {who}: {before if before is not None else 'none'} → {after}")]
