// Uses the agents with the TypeScript SDK, over HTTP and over stdio.
import assert from "node:assert";
import {Client} from "@modelcontextprotocol/sdk/client/index.js";
import {StreamableHTTPClientTransport} from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {StdioClientTransport} from "@modelcontextprotocol/sdk/client/stdio.js";
import {ElicitRequestSchema, LoggingMessageNotificationSchema} from "@modelcontextprotocol/sdk/types.js";

const [, , url, program] = process.argv;
const transports = {
  http: () => new StreamableHTTPClientTransport(new URL(url + "/mcp"), {requestInit: {headers: {"X-Api-Key": "alice", Authorization: "Bearer alice"}}}),
  stdio: () => new StdioClientTransport({command: program, args: [], env: {...process.env, MCP_TEST_STDIO: "1"}, stderr: "ignore"}),
};

for (const [name, transport] of Object.entries(transports)) {
  const client = new Client({name: "test", version: "1"}, {capabilities: {elicitation: {form: {}, url: {}}}});
  const asked = [];
  client.setRequestHandler(ElicitRequestSchema, async ({params}) => {
    asked.push(params.message);
    return {action: "accept", content: params.message.includes("city") ? {answer: "Bern"} : {approved: true}};
  });
  const logs = [];
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({params}) => void logs.push(params.data));
  await client.connect(transport());
  await client.ping();
  await client.setLoggingLevel("info");
  const {tools} = await client.listTools();
  const object = tools.find((t) => t.title === "team:object");
  assert.deepEqual(tools.map((t) => t.name).filter((n) => !n.startsWith("test_")).sort(), ["clerk", "greeter", "list", "plain", object.name].sort());

  const call = (tool, message, options) => client.callTool({name: tool, arguments: {message}}, undefined, options);
  const progress = [];
  const looked = await call("clerk", "call look", {onprogress: (p) => progress.push(p.progress)});
  assert.equal(looked.content[0].text, "It is paid.", name);
  assert.ok(logs.includes("calls look"), `${name}: ${logs}`);
  assert.deepEqual(progress, [...progress].sort((a, b) => a - b));
  assert.equal((await call("clerk", "call pay")).content[0].text, "It is paid.");
  assert.match((await call("clerk", "call ask")).content[0].text, /Bern/);
  assert.equal(asked.length, 2);
  assert.deepEqual((await call(object.name, '{"name":"Ada"}')).structuredContent, {name: "Ada"});
  assert.deepEqual((await call("list", "[1,2]")).structuredContent, {result: [1, 2]});

  const first = await call("plain", "one");
  const session = first._meta["agentruntime/session_id"];
  const second = await client.callTool({name: "plain", arguments: {message: "history", session_id: session}});
  assert.equal(second.content[0].text, "one|You said one|history");

  const canceled = new AbortController();
  const hanging = call("plain", "hang", {signal: canceled.signal});
  setTimeout(() => canceled.abort("enough"), 200);
  await assert.rejects(hanging, /enough/);

  assert.equal((await client.getPrompt({name: "greet", arguments: {name: "Ada"}})).messages[0].content.text, "Greet Ada ");
  assert.equal((await client.readResource({uri: "doc://rules"})).contents[0].text, "Be nice.");
  await assert.rejects(client.callTool({name: "nothing"}), /unknown tool/);
  if (name === "http") await assert.rejects(client.request({method: "nothing/list"}, {parse: (x) => x}), /-32601/);

  const states = [];
  for await (const m of client.experimental.tasks.callToolStream({name: "clerk", arguments: {message: "call ask"}}, undefined, {task: {ttl: 60_000}})) {
    states.push(m.type);
    if (m.type === "error") throw m.error;
    if (m.type === "result") assert.match(m.result.content[0].text, /Bern/);
  }
  assert.ok(states.includes("taskCreated") && states.at(-1) === "result", states.join());
  assert.equal(asked.length, 3);
  const {tasks} = await client.experimental.tasks.listTasks();
  assert.deepEqual(tasks.map((t) => t.status), ["completed"]);
  await client.close();
}
