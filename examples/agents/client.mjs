// The agents of the example, used with the vendor's client for JavaScript. Its argument is
// the URL of the example, started with -serve.
import assert from "node:assert/strict";
import { remoteAgent } from "genkit/beta/client";

const url = process.argv[2];
const desk = remoteAgent({ url: `${url}/agents/desk` });
const report = remoteAgent({ url: `${url}/agents/report` });

// A conversation, whose typed state the server keeps and the stream shows.
const chat = desk.chat({ sessionId: "customer 7" });
const greeting = chat.sendStream("Hello");
const seen = [];
for await (const chunk of greeting.stream) if (chunk.custom) seen.push(chunk.custom.requests);
assert.deepEqual(seen, [1]);
assert.equal((await greeting.response).text, "What can I do for you?");

// A person is asked before the desk pays.
const asked = await chat.send("I want a refund.");
assert.equal(asked.finishReason, "interrupted");
const [interrupt] = asked.interrupts;
assert.deepEqual([interrupt.name, interrupt.input], ["refund", { amount: 12 }]);
const paid = await chat.resume({ restart: [{ ...interrupt.restart(), metadata: { resumed: { approved: true } } }] });
assert.equal(paid.finishReason, "stop");
const kept = await desk.getSnapshot({ sessionId: "customer 7" });
assert.deepEqual(kept.state.custom, { requests: 2, paid: 12 });

// A report is written in the background; its progress is an artifact.
const task = await report.chat().detach("Write the report");
const last = await task.wait({ intervalMs: 10 });
assert.equal(last.status, "completed");
assert.equal(last.state.artifacts[0].name, "progress");
assert.equal(last.state.artifacts[0].parts[0].text, "2 of 2");
console.log("ok");
