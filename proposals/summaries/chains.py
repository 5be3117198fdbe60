"""What another version of a workflow-chain pack changes (RFC 0013): chains, nodes, the tools they use, parameters."""

from typing import Any

from memory.host import node_types
from proposals.summaries.lines import Line, by, change, gain, listed, loss, named, note, sets, value

Document = dict[str, Any]


def compare(old: Document, new: Document) -> list[Line]:
    before, after = by(old.get("chains", ()), "chainId"), by(new.get("chains", ()), "chainId")
    return [
        *value("Version", old.get("version"), new.get("version")),
        *sets("Chains", before, after),
        *(line for name in after for line in _chain(name, before.get(name, {}), after[name])),
        *sets("Packs it depends on", old.get("dependencies", ()), new.get("dependencies", ())),
    ]


def _chain(name: str, old: Any, new: Any) -> list[Line]:
    who = named(name)
    before, after = _nodes(old), _nodes(new)
    return [
        *sets(f"Tools used by {who}", _tools(before), _tools(after)),
        *sets(f"Traits of {who}", old.get("capabilities", ()), new.get("capabilities", ())),
        *_node_lines(who, before, after),
        *sets(f"Parameters of {who}", _parameters(old), _parameters(new)),
        *_edges(who, old, new),
    ]


def _nodes(chain: Any) -> dict[str, Any]:
    return by(chain.get("dag", {}).get("nodes", ()), "id")


def _tools(nodes: dict[str, Any]) -> list[str]:
    found = (tool for node in nodes.values() for tool in node_types.tools_of(node["typeId"], node.get("config", {})))
    return list(dict.fromkeys(found))


def _parameters(chain: Any) -> list[str]:
    return list(chain.get("parameters", {}).get("properties", ()))


def _node_lines(who: str, old: dict[str, Any], new: dict[str, Any]) -> list[Line]:
    if not old:
        return [note(f"{who} is: {' → '.join(named(node['typeId']) for node in new.values())}")]
    added = [f"{node['typeId']} ({name})" for name, node in new.items() if name not in old]
    removed = [f"{node['typeId']} ({name})" for name, node in old.items() if name not in new]
    lines = [gain(f"Nodes of {who}: {listed(added)}")] if added else []
    lines += [loss(f"Nodes of {who}: {listed(removed)}")] if removed else []
    for name, node in new.items():
        if name in old and old[name]["typeId"] != node["typeId"]:
            lines.append(change(f"Node {named(name)} is another: {old[name]['typeId']} → {node['typeId']}"))
        elif name in old and old[name] != node:
            lines.append(change(f"Node {named(name)} ({node['typeId']}) is set otherwise"))
    return lines


def _edges(who: str, old: Any, new: Any) -> list[Line]:
    before, after = (sorted(map(_edge, chain.get("dag", {}).get("edges", ()))) for chain in (old, new))
    return [change(f"{who} goes another way: its edges changed")] if before and before != after else []


def _edge(edge: dict[str, Any]) -> str:
    return f"{edge.get('from')} {edge.get('to')} {edge.get('condition')}"
