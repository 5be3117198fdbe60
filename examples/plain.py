"""An agent in plain Python: three steps remember what they did, and it is found again."""

import os

from openwop_console_client import Client

STEPS = {
    "read": "Invoice 1042 of Kestrel is unpaid",
    "check": "Kestrel was reminded on Monday",
    "decide": "Kestrel gets a second reminder on Friday",
}

with Client(os.environ["OPENWOP_URL"], os.environ["OPENWOP_API_KEY"], "plain-agent") as client:
    for step, (node, text) in enumerate(STEPS.items(), start=1):
        origin = {"system": "plain-python", "threadId": "invoice-1042", "node": node, "step": step}
        client.memory.put("reminders", node, {"text": text}, memory_type="episodic", origin=origin)
    for entry in client.memory.query("reminders", q="second reminder"):
        print(entry["key"], entry.value["text"])
