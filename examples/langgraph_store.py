"""A LangGraph graph of three nodes, run in two threads: each node writes one item of the store."""

import os
from typing import TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_store
from langgraph.graph import START, StateGraph

from openwop_console_client.langgraph import ConsoleStore


class State(TypedDict):
    topic: str


def plan(state: State) -> None:
    get_store().put(("desk", state["topic"]), "plan", {"text": f"Look up what the rules say about {state['topic']}"})


def research(state: State) -> None:
    get_store().put(("desk", state["topic"]), "finding", {"text": f"The rules about {state['topic']} changed in May"})


def answer(state: State) -> None:
    found = get_store().search(("desk", state["topic"]), query="rules changed", limit=1)
    get_store().put(("desk", state["topic"]), "answer", {"text": found[0].value["text"]})


with ConsoleStore(os.environ["OPENWOP_URL"], os.environ["OPENWOP_API_KEY"], agent_id="graph-agent") as store:
    builder = StateGraph(State).add_sequence([plan, research, answer]).add_edge(START, "plan")
    graph = builder.compile(checkpointer=InMemorySaver(), store=store)
    for topic in ("refunds", "vouchers"):
        graph.invoke({"topic": topic}, {"configurable": {"thread_id": f"thread-{topic}"}})
    for item in store.search(("desk",), query="rules changed", filter={"text": {"$ne": ""}}):
        print(item.namespace, item.key, item.value["text"])
