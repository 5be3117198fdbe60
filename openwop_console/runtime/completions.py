"""``core.ai.chatCompletion`` and ``core.agent``: a conversation with the tenant's model, which may use tools.

The conversation is rebuilt from the node's config and the recorded answers of its calls, so it resumes after the last
answer even when its worker has died.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from memory import agents, memory_policy, model_endpoint
from memory.host import registry, runs, vault
from memory.host.events import AgentDecided, AgentReasoned
from memory.host.json_schemas import config_problems, problems
from memory.host.json_types import JSONMapping, JSONObject
from memory.host.models import ArtifactKind
from memory.host.node_types import (
    MEMORY_READ,
    MEMORY_SEARCH,
    MEMORY_WRITE,
    Act,
    Call,
    Done,
    NodeContext,
    NodeFailure,
    Outcome,
    Sending,
    node_type,
)
from memory.host.outbound import OutboundFailed
from memory.memory_policy import Policy
from memory.text import token_budget, untrusted
from openwop_console.runtime import calls, workflows
from openwop_console.runtime.expressions import fill, is_storable

KIND = "ai.chat"
SECONDS = 40.0
MAX_TOKENS = 1024  # the default when the config sets none
MOST_TOKENS = 32_768
MOST_TURNS = 8
MOST_FOUND = 10
UNKNOWN_TOOL = "unknown"
SEARCH_BUDGET = 2000  # tokens of memory that one search may bring into the conversation
TEXT = {"type": "string", "minLength": 1}
CONFIG = {
    "type": "object",
    "additionalProperties": False,
    "oneOf": [{"required": ["prompt"]}, {"required": ["messages"]}],
    "properties": {
        "prompt": TEXT,
        "messages": {
            "type": "array",
            "minItems": 1,
            "maxItems": 64,
            "items": {
                "type": "object",
                "required": ["role", "content"],
                "additionalProperties": False,
                "properties": {"role": {"enum": ["system", "user", "assistant"]}, "content": TEXT},
            },
        },
        "model": {"type": "string", "minLength": 1, "maxLength": 128},
        "maxTokens": {"type": "integer", "minimum": 1, "maximum": MOST_TOKENS},
        "timeoutSeconds": {"type": "number", "exclusiveMinimum": 0, "maximum": calls.LONGEST},
        "tools": {"type": "array", "uniqueItems": True, "items": {"enum": [MEMORY_SEARCH, MEMORY_WRITE]}},
    },
}


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of this host as offered to a model; ``name`` has no dot, because the protocol forbids it."""

    name: str
    description: str
    parameters: JSONObject
    use: Callable[[NodeContext, str, JSONObject], JSONObject]


def _search(ctx: NodeContext, memory_ref: str, given: JSONObject) -> JSONObject:
    found = ctx.memory.list(
        memory_ref, limit=MOST_FOUND, token_budget=SEARCH_BUDGET, rank="relevance", query=given["query"]
    )
    return {"note": untrusted.ENTRIES, "entries": list(found)}


def _write(ctx: NodeContext, memory_ref: str, given: JSONObject) -> JSONObject:
    return {"id": ctx.memory.write(memory_ref, given["content"], tags=given.get("tags", []))}


TOOLS = {
    MEMORY_SEARCH: Tool(
        "memory_search",
        "Search what you remember. Returns the entries that are most relevant to the query.",
        {
            "type": "object",
            "properties": {"query": {"type": "string", "minLength": 1, "maxLength": 2000}},
            "required": ["query"],
            "additionalProperties": False,
        },
        _search,
    ),
    MEMORY_WRITE: Tool(
        "memory_write",
        "Remember a text for later conversations.",
        {
            "type": "object",
            "properties": {
                "content": {"type": "string", "minLength": 1},
                "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 16},
            },
            "required": ["content"],
            "additionalProperties": False,
        },
        _write,
    ),
}


@dataclass(frozen=True, slots=True)
class Conversation:
    """The initial messages and the limits of a conversation; ``max_tokens`` bounds all its turns, ``seconds`` each."""

    messages: Sequence[JSONObject]
    agent_id: str = ""
    memory_ref: str = ""
    tools: Sequence[str] = ()
    model: str = ""
    max_tokens: int = MAX_TOKENS
    seconds: float = SECONDS


def _tools_of(config: JSONMapping) -> Sequence[str]:
    return tuple(config.get("tools", ()))


@node_type("core.ai.chatCompletion", tools=_tools_of, check=partial(config_problems, CONFIG), makes_calls=True)
def chat_completion(ctx: NodeContext) -> Outcome:
    """Send a prompt or messages to the model; ``{{name}}`` in them is an input of the node.

    The outputs are ``text``, ``model``, ``finishReason`` and, if the endpoint reports them, ``promptTokens`` and
    ``completionTokens``.
    """
    config = ctx.config
    written = config.get("messages") or [{"role": "user", "content": config["prompt"]}]
    return converse(
        ctx,
        Conversation(
            [{"role": each["role"], "content": fill(each["content"], ctx.inputs)} for each in written],
            agent_id=str(ctx.agent.get("agentId", "")),
            memory_ref=str(ctx.agent.get("memoryRef", "")),
            tools=config.get("tools", ()),
            model=config.get("model", ""),
            max_tokens=config.get("maxTokens", MAX_TOKENS),
            seconds=config.get("timeoutSeconds", SECONDS),
        ),
        ctx.calls,
    )


def converse(ctx: NodeContext, conversation: Conversation, answers: Sequence[JSONObject]) -> Outcome:
    """The next outcome after ``answers``: a call of the model, a use of a tool, or the finished conversation.

    Raises NodeFailure ``agent_missing``, ``budget`` or ``too_many_turns``.
    """
    if conversation.tools and not (conversation.agent_id and conversation.memory_ref):
        raise NodeFailure("agent_missing", "The node offers tools, and has no agent with a memoryRef.", final=True)
    limit = min(conversation.max_tokens, int(ctx.run.configurable.get("maxTokens", MOST_TOKENS)))
    messages, given, spent = list(conversation.messages), iter(answers), 0
    asked, used = 0, {"promptTokens": 0, "completionTokens": 0}
    for turn in range(MOST_TURNS):
        said = next(given, None)
        if said is None:
            if spent >= limit:
                raise NodeFailure("budget", "The node has used the tokens that it may.", final=True)
            tools = conversation.tools if turn < MOST_TURNS - 1 else ()
            return _request_completion(ctx, conversation, messages, asked, limit - spent, tools)
        asked = len(messages)
        spent += said["completionTokens"] or token_budget.count(said["text"])
        used = {name: used[name] + (said[name] or 0) for name in used}
        messages.append(_as_message(said))
        for call in said["toolCalls"]:
            result = next(given, None)
            if result is None:
                return _use_tool(ctx, conversation, call)
            content = json.dumps(result.get("result", result), ensure_ascii=False)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
        if not said["toolCalls"]:
            counted = {name: count for name, count in used.items() if count}
            return Done({"text": said["text"], "model": said["model"], "finishReason": said["finishReason"], **counted})
    raise NodeFailure("too_many_turns", f"The model used tools in {MOST_TURNS} turns without an answer.", final=True)


def _as_message(said: JSONObject) -> JSONObject:
    """The model's answer as a message of the next turn."""
    message: JSONObject = {"role": "assistant", "content": said["text"]}
    if said["toolCalls"]:
        message["tool_calls"] = [
            {"id": each["id"], "type": "function", "function": {"name": each["name"], "arguments": each["arguments"]}}
            for each in said["toolCalls"]
        ]
    return message


def _request_completion(
    ctx: NodeContext,
    conversation: Conversation,
    messages: list[JSONObject],
    asked: int,
    left: int,
    tools: Sequence[str],
) -> Call:
    """A call of the model with all ``messages``; only those from index ``asked`` on are recorded with the request."""
    policy = memory_policy.policy_of(ctx.run.tenant_id)
    if not policy.endpoint_url:
        raise NodeFailure("endpoint_missing", "The memory policy of the tenant names no endpoint.", final=True)
    key = _key(ctx, policy)
    configurable = ctx.run.configurable
    model = str(configurable.get("model") or conversation.model or policy.endpoint_model)
    body: JSONObject = {"model": model, "messages": messages, "max_tokens": left}
    if "temperature" in configurable:
        body["temperature"] = configurable["temperature"]
    if tools:
        body["tools"] = [_tool_document(TOOLS[name]) for name in tools]
    if len(json.dumps(body)) > model_endpoint.MAX_BYTES:
        raise calls.failure("too_large")

    async def send(sending: Sending) -> JSONObject:
        try:
            said = await model_endpoint.chat(
                policy.endpoint_url,
                key,
                body,
                seconds=sending.seconds,
                say=sending.say,
                headers=sending.headers,
            )
        except OutboundFailed as failed:
            raise calls.failure_of(failed) from None
        return {
            "text": said.text,
            "toolCalls": list(said.tool_calls),
            "model": model,
            "finishReason": said.finish_reason,
            "promptTokens": said.prompt_tokens,
            "completionTokens": said.completion_tokens,
        }

    request = {"model": model, "maxTokens": left, "messages": messages[asked:], "tools": list(tools)}
    return Call(KIND, request, send, conversation.seconds, streams=True)


def _key(ctx: NodeContext, policy: Policy) -> str:
    """The key of the endpoint. Its resolution is recorded before the key is sent, so answers are redacted of it."""
    key = vault.resolve(ctx.run, policy.endpoint_secret, of_tenant=True, now=ctx.now).strip()
    if not key.isascii() or not key.isprintable():
        raise calls.failure("refused")
    return key


def _tool_document(tool: Tool) -> JSONObject:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _use_tool(ctx: NodeContext, conversation: Conversation, call: JSONObject) -> Act:
    """An act that runs the tool the model asked for. An unknown tool or invalid arguments become an error that is
    returned to the model."""
    names = {TOOLS[name].name: name for name in conversation.tools}
    tool_id = names.get(call["name"], "")

    def do() -> JSONObject:
        if not tool_id:
            raise NodeFailure("tool_not_allowed", "The agent may not use a tool of that name.")
        tool, given = TOOLS[tool_id], _arguments(call)
        if given is None or problems(tool.parameters, given, field="arguments"):
            raise NodeFailure("arguments_invalid", "The arguments are not those of the tool.")
        return tool.use(ctx, conversation.memory_ref, given)

    asked = _arguments(call)
    request = {"arguments": asked if asked is not None else call["arguments"]}
    # The name goes on the log, which is never erased: one that the model made up may say anything, and is kept with the
    # model's answer alone.
    shown = call["name"] if call["name"] in {tool.name for tool in TOOLS.values()} else UNKNOWN_TOOL
    return Act(conversation.agent_id, tool_id or shown, request, do)


def _arguments(call: JSONObject) -> JSONObject | None:
    """The arguments that a model gave a tool; None when they are not an object or cannot be stored."""
    try:
        given = json.loads(call["arguments"] or "{}")
    except (ValueError, RecursionError):
        return None
    return given if isinstance(given, dict) and is_storable(given) else None


AGENT_CONFIG = {
    "type": "object",
    "additionalProperties": False,
    "required": ["agentId", "prompt"],
    "properties": {"agentId": {"type": "string", "minLength": 1, "maxLength": 256}, "prompt": TEXT},
}
INJECTED = 2000  # tokens of memory that an agent begins with
LONGEST_QUERY = 2000
ANSWERED = "answered"


def problems_of_agent(node: JSONMapping) -> list[tuple[str, str]]:
    """Return (field, problem) pairs for the config of an agent node."""
    wrong = config_problems(AGENT_CONFIG, node)
    named = node.get("agent", {}).get("agentId")
    if not wrong and named not in (None, node["config"]["agentId"]):
        wrong.append(("agent.agentId", "is not the agent of the config"))
    return wrong


@node_type(workflows.AGENT, check=problems_of_agent, makes_calls=True)
def agent(ctx: NodeContext) -> Outcome:
    """An installed agent answers ``prompt`` with its system prompt, its relevant memory, and the tools of its
    ``toolAllowlist`` that this host has. The outputs are those of ``core.ai.chatCompletion``."""
    agent_id = ctx.config["agentId"]
    installed = registry.resolve(ctx.run, ArtifactKind.AGENT, agent_id, node_id=ctx.node_id, now=ctx.now)
    manifest = json.loads(installed.text)
    memory_ref = str(ctx.agent.get("memoryRef") or f"agents/{agent_id}")
    prompt, allowed, answers = fill(ctx.config["prompt"], ctx.inputs), agents.tools_in(manifest), list(ctx.calls)
    messages = [{"role": "system", "content": manifest["systemPrompt"]}] if "systemPrompt" in manifest else []
    if reads := [tool for tool in (MEMORY_SEARCH, MEMORY_READ) if tool in allowed]:
        if not answers:
            return _remember(ctx, agent_id, reads[0], memory_ref, prompt)
        if known := "\n".join(f"- {entry['content']}" for entry in answers.pop(0).get("result", {}).get("entries", [])):
            messages.append({"role": "system", "content": f"{untrusted.ENTRIES}\n{known}"})
    messages.append({"role": "user", "content": prompt})
    tools = [tool for tool in TOOLS if tool in allowed]
    outcome = converse(ctx, Conversation(messages, agent_id, memory_ref, tools), answers)
    if isinstance(outcome, Done):
        runs.note(
            ctx.run,
            AgentReasoned(agent_id, node_id=ctx.node_id),
            AgentDecided(agent_id, ANSWERED, ctx.node_id),
            now=ctx.now,
        )
    return outcome


def _remember(ctx: NodeContext, agent_id: str, tool: str, memory_ref: str, prompt: str) -> Act:
    """The agent's first act: list the entries relevant to the prompt, within INJECTED tokens."""
    query = prompt[:LONGEST_QUERY]

    def do() -> JSONObject:
        found = ctx.memory.list(memory_ref, token_budget=INJECTED, rank="relevance", query=query)
        return {"entries": list(found)}

    return Act(agent_id, tool, {"query": query, "tokenBudget": INJECTED}, do)
