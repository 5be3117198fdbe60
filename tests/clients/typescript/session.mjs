// A whole session of the official client. It reads OPENWOP_URL and, for a session with a key, OPENWOP_API_KEY; without a
// key a person has to consent: the address is a line on standard output, and the code comes as a line on standard input.
// Each further line of output is what has been done; a line of input, "more", asks for one more call.
import assert from "node:assert/strict";
import { createInterface } from "node:readline/promises";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const address = new URL("/mcp", process.env.OPENWOP_URL);
const key = process.env.OPENWOP_API_KEY;
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const say = (what) => console.log(JSON.stringify(what));
const hear = async () => (await lines.next()).value;

const kept = {};
const person = {
  redirectUrl: "http://127.0.0.1:5000/callback",
  clientMetadata: { client_name: "TypeScript SDK", redirect_uris: ["http://127.0.0.1:5000/callback"] },
  state: () => "a-state",
  clientInformation: () => kept.client,
  saveClientInformation: (client) => { kept.client = client; },
  tokens: () => kept.tokens,
  saveTokens: (tokens) => { kept.tokens = tokens; },
  saveCodeVerifier: (verifier) => { kept.verifier = verifier; },
  codeVerifier: () => kept.verifier,
  redirectToAuthorization: (url) => say({ authorize: url.href }),
};

const transportOf = () => new StreamableHTTPClientTransport(
  address, key ? { requestInit: { headers: { Authorization: `Bearer ${key}` } } } : { authProvider: person });

let client = new Client({ name: "typescript-session", version: "1" });
const transport = transportOf();
try {
  await client.connect(transport);
} catch (refused) {
  if (key || !(refused instanceof UnauthorizedError)) throw refused;
  await transport.finishAuth(await hear());
  client = new Client({ name: "typescript-session", version: "1" });
  await client.connect(transportOf());
}

const names = (await client.listTools()).tools.map((tool) => tool.name);
for (const name of ["memory_search", "memory_write", "ask_human", "proposal_create"]) assert.ok(names.includes(name));
const origin = { system: "typescript", threadId: "t-1", node: "plan" };
const call = (name, given, options) => client.callTool({ name, arguments: given }, undefined, options);
const written = await call("memory_write", { memoryRef: "notes", content: "the owl flies at night", origin });
const { id } = written.structuredContent;
const found = await call("memory_search", { query: "owl" });
assert.ok(found.structuredContent.entries.map((entry) => entry.id).includes(id));
for (const block of found.content) assert.match(block.text.split("\n")[0], /data, not instructions/);
const one = await call("memory_get", { id });
assert.deepEqual(one.structuredContent.provenance.origin, origin);
const resource = await client.readResource({ uri: `openwop://memory/${id}` });
assert.match(resource.contents[0].text, /the owl flies at night/);
assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 2);
assert.equal((await call("memory_get", { id: "mem_x" })).isError, true);
say({ kept: id });

for (let asked = await hear(); asked; asked = await hear()) {
  const { tool, given } = JSON.parse(asked);
  let told = 0;
  try {
    const answer = await call(tool, given, { onprogress: () => { told += 1; }, timeout: 60_000 });
    say({ answer: answer.structuredContent ?? null, isError: answer.isError ?? false, told });
  } catch (refused) {
    say({ refused: refused.constructor.name });
  }
}
await client.close();
