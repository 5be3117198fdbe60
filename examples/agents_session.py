"""An agent of the OpenAI Agents SDK whose conversation is kept here, with a model of its own that needs no key."""

import os
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from openwop_console_client.agents import ConsoleSession


class Counting(Model):
    """In place of a real model."""

    async def get_response(self, *given: Any, **named: Any) -> ModelResponse:
        items = named["input"]
        text = f"I know {len(items)} messages; the first was: {items[0]['content']}"
        content = ResponseOutputText(type="output_text", text=text, annotations=[])
        said = ResponseOutputMessage(id="1", type="message", role="assistant", status="completed", content=[content])
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


session = ConsoleSession(
    "conversation-7", os.environ["OPENWOP_URL"], os.environ["OPENWOP_API_KEY"], agent_id="session-agent"
)
agent = Agent(name="desk", model=Counting())
for text in ("My voucher has expired", "What did I say?"):
    done = Runner.run_sync(agent, text, session=session, run_config=RunConfig(tracing_disabled=True))
    print(done.final_output)
