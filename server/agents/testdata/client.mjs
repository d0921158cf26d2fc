// What an application does with the vendor's client. Arguments: the URL of the server, and
// the token of its user.
import assert from "node:assert/strict";
import { AgentError, remoteAgent, runFlow, streamFlow } from "genkit/beta/client";

const [url, token] = process.argv.slice(2);
const headers = { authorization: `Bearer ${token}` };
const clerk = remoteAgent({ url: `${url}/agents/clerk`, headers: () => headers });

const scenarios = {
  async "a turn answers"() {
    const chat = clerk.chat();
    const response = await chat.send("hello there");
    assert.equal(response.text, "hello there");
    assert.equal(response.finishReason, "stop");
    assert.ok(response.snapshotId && response.sessionId);
    assert.equal(chat.messages.length, 2);
  },

  async "a turn streams"() {
    const turn = clerk.chat().sendStream("one two three");
    let accumulated = "";
    for await (const chunk of turn.stream) {
      assert.ok(accumulated.length <= chunk.accumulatedText.length);
      accumulated = chunk.accumulatedText;
    }
    assert.equal(accumulated, "one two three");
    assert.equal((await turn.response).text, "one two three");
  },

  async "a conversation goes on, in its session and in a new client"() {
    const chat = clerk.chat({ sessionId: `js-${Date.now()}` });
    const first = await chat.send("one");
    const second = await chat.send("two");
    assert.equal(second.sessionId, first.sessionId);
    assert.notEqual(second.snapshotId, first.snapshotId);
    const loaded = await clerk.loadChat({ sessionId: first.sessionId });
    assert.deepEqual(loaded.messages.map((m) => [m.role, m.content[0].text]), [["user", "one"], ["model", "one"], ["user", "two"], ["model", "two"]]);
    assert.equal((await loaded.send("three")).text, "three");
    const fork = await clerk.loadChat({ snapshotId: first.snapshotId });
    assert.equal(fork.messages.length, 2);
    assert.equal((await fork.send("other")).text, "other");
  },

  async "an interrupt is answered"() {
    const chat = clerk.chat();
    const asked = await chat.send("pay");
    assert.equal(asked.finishReason, "interrupted");
    assert.equal(asked.interrupts.length, 1);
    const [interrupt] = asked.interrupts;
    assert.equal(interrupt.name, "pay");
    assert.deepEqual(interrupt.input, { amount: 12 });
    const done = await chat.resume({ respond: [interrupt.respond({ approved: true })] });
    assert.equal(done.text, "Done.");
    assert.equal(done.finishReason, "stop");
    assert.equal((await chat.send("thanks")).text, "thanks");
  },

  async "an interrupt is answered as a stream"() {
    const chat = clerk.chat();
    const asked = await chat.send("pay");
    const turn = chat.resumeStream({ respond: asked.interrupts.map((i) => i.respond({ approved: true })) });
    let text = "";
    for await (const chunk of turn.stream) text = chunk.accumulatedText;
    assert.equal(text, "Done.");
    assert.equal((await turn.response).finishReason, "stop");
  },

  async "a detached turn is waited for"() {
    const chat = clerk.chat();
    const task = await chat.detach("go on alone");
    const last = await task.wait({ intervalMs: 10 });
    assert.equal(last.status, "completed");
    assert.equal(last.state.messages.at(-1).content[0].text, "go on alone");
    const waited = await runFlow({ url: `${url}/agents/clerk/waitForSnapshot`, input: { snapshotId: task.snapshotId }, headers });
    assert.equal(waited.status, "completed");
  },

  async "a detach alone leaves the session as it is"() {
    const chat = clerk.chat({ sessionId: `js-alone-${Date.now()}` });
    await chat.send("one");
    const init = { sessionId: chat.sessionId };
    const output = await runFlow({ url: `${url}/agents/clerk`, input: { detach: true }, init, headers });
    assert.equal(output.finishReason, "detached");
    const kept = await runFlow({ url: `${url}/agents/clerk/waitForSnapshot`, input: { snapshotId: output.snapshotId }, headers });
    assert.equal(kept.status, "completed");
    assert.equal(kept.finishReason, undefined);
    const loaded = await clerk.loadChat({ sessionId: chat.sessionId });
    assert.equal(loaded.messages.length, 2);
    assert.equal((await loaded.send("two")).text, "two");
  },

  async "a detached turn is aborted, and its session goes on"() {
    const chat = clerk.chat({ sessionId: `js-abort-${Date.now()}` });
    const task = await chat.detach("hang");
    const before = await task.abort();
    assert.ok(["pending", "aborted"].includes(before), before);
    const last = await task.wait({ intervalMs: 10 });
    assert.equal(last.status, "aborted");
    assert.equal((await clerk.chat({ sessionId: chat.sessionId }).send("hello")).text, "hello");
  },

  async "a turn that fails is an AgentError, and its conversation goes on"() {
    const chat = clerk.chat({ sessionId: `js-fail-${Date.now()}` });
    await chat.send("one");
    await assert.rejects(chat.send("fail"), (error) => {
      assert.ok(error instanceof AgentError);
      assert.equal(error.response.finishReason, "failed");
      assert.match(error.status, /^[A-Z_]+$/);
      return true;
    });
    assert.equal(chat.messages.length, 2);
    assert.equal((await chat.send("two")).text, "two");
  },

  async "a client that gives up leaves the turn to the server"() {
    const chat = clerk.chat({ sessionId: `js-gone-${Date.now()}` });
    const stop = new AbortController();
    const turn = chat.sendStream("hang", { abortSignal: stop.signal });
    for await (const chunk of turn.stream) if (chunk.text) stop.abort();
    assert.equal((await turn.response).finishReason, "aborted");
  },

  async "a stream is read again by its id"() {
    const message = { role: "user", content: [{ text: "once more" }] };
    const first = streamFlow({ url: `${url}/agents/clerk`, input: { message }, init: {}, headers });
    const id = await first.streamId;
    assert.ok(id);
    const output = await first.output;
    const again = streamFlow({ url: `${url}/agents/clerk`, input: { message }, init: {}, headers, streamId: id });
    let text = "";
    for await (const chunk of again.stream) text += (chunk.modelChunk?.content ?? []).map((p) => p.text ?? "").join("");
    assert.equal(text, "once more");
    assert.deepEqual(await again.output, output);
    const unknown = streamFlow({ url: `${url}/agents/clerk`, input: { message }, init: {}, headers, streamId: "nothing" });
    unknown.stream[Symbol.asyncIterator]().next().catch(() => {});
    await assert.rejects(unknown.output, /NOT_FOUND/);
  },

  async "what is unknown or forbidden is refused"() {
    await assert.rejects(remoteAgent({ url: `${url}/agents/nobody`, headers }).chat().send("hello"), /404/);
    await assert.rejects(remoteAgent({ url: `${url}/agents/clerk` }).chat().send("hello"), /401/);
    await assert.rejects(clerk.loadChat({ snapshotId: "nothing" }));
  },
};

for (const [name, scenario] of Object.entries(scenarios)) {
  try {
    await scenario();
    console.log(`ok: ${name}`);
  } catch (error) {
    console.error(`FAILED: ${name}\n`, error);
    process.exitCode = 1;
  }
}
