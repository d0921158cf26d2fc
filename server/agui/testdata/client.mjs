// Drives the server with the clients of the protocol: 1.0, and the one that CopilotKit pins.
import assert from "node:assert/strict"
import {HttpAgent} from "@ag-ui/client"
import {EventSchema} from "@ag-ui/core/schemas"
import {HttpAgent as OldAgent} from "client-0.0.59"

const base = process.argv[2] + "/agui/"
const headers = {Authorization: "Bearer alice"}

// checked decodes each event by the schema of the protocol.
const seen = new Set()
const checked = async (url, init) => {
	const response = await fetch(url, init)
	const [body, copy] = response.body.tee()
	const text = new Response(copy).text().then(text => {
		assert.ok(!text.includes("\r"))
		if (!response.ok) return
		for (const line of text.split("\n").filter(line => line.startsWith("data: "))) {
			const event = EventSchema.parse(JSON.parse(line.slice(6)))
			assert.deepEqual(Object.keys(event).sort(), Object.keys(JSON.parse(line.slice(6))).sort(), line)
			assert.ok(!/:null[,}]/.test(line), line)
			seen.add(event.type)
		}
	})
	checks.push(text)
	return new Response(body, {status: response.status, headers: response.headers})
}
const checks = []

const city = {type: "object", properties: {city: {type: "string"}}}
const tools = [{name: "get_weather", description: "Weather.", parameters: city}]
let count = 0
const say = (agent, content) => agent.addMessage({id: "u" + ++count, role: "user", content})
const roles = agent => agent.messages.map(m => m.role).join(" ")
const last = agent => agent.messages.at(-1)

for (const [version, Agent] of [["1.0", HttpAgent], ["0.0.59", OldAgent]]) {
	const start = (name, more) => new Agent({url: base + name, headers, fetch: checked, threadId: crypto.randomUUID(), ...more})
	const events = []
	const run = async (agent, parameters = {}) => {
		events.length = 0
		let failed
		await agent.runAgent({tools: [], ...parameters}, {
			onEvent: ({event}) => { events.push(event) },
			onRunErrorEvent: ({event}) => { failed = event },
		})
		await Promise.all(checks.splice(0))
		return failed
	}

	// Text, and a second turn of the thread.
	const talk = start("clerk")
	say(talk, "hello")
	assert.equal(await run(talk), undefined)
	assert.equal(last(talk).content, "You said hello")
	say(talk, "history")
	await run(talk)
	assert.match(last(talk).content, /user:hello\|assistant:You said hello\|user:history$/)
	assert.equal(roles(talk), "user assistant user assistant")
	assert.equal(new Set(talk.messages.map(m => m.id)).size, 4)

	// An edited history goes on where it was cut.
	talk.setMessages(talk.messages.slice(0, 2))
	say(talk, "history")
	await run(talk)
	assert.match(last(talk).content, /user:hello\|assistant:You said hello\|user:history$/)
	talk.setMessages([{...talk.messages[0], content: "history"}])
	await run(talk)
	assert.match(last(talk).content, /^system:[^|]*\|user:history$/)

	// Thoughts, tools, and the arguments and results of these.
	const worker = start("clerk")
	say(worker, "think")
	await run(worker)
	assert.equal(last(worker).content, "Yes.")
	say(worker, "look")
	await run(worker)
	assert.equal(roles(worker), "user reasoning assistant user assistant tool assistant")
	const [call] = worker.messages.find(m => m.toolCalls).toolCalls
	assert.deepEqual(JSON.parse(call.function.arguments), {city: "Bern"})
	assert.equal(worker.messages.find(m => m.role === "tool").content, "look done")

	// A tool of the front end: its result continues the run, and the same result again
	// gives the same answer.
	const front = start("clerk")
	say(front, "weather")
	await run(front, {tools})
	assert.equal(roles(front), "user assistant")
	const asked = last(front).toolCalls[0]
	front.addMessage({id: "t" + ++count, role: "tool", toolCallId: asked.id, content: "sunny"})
	const before = structuredClone(front.messages)
	for (let n = 0; n < 2; n++) {
		front.setMessages(structuredClone(before))
		assert.equal(await run(front, {tools}), undefined)
		assert.equal(last(front).content, "It is sunny.")
		assert.equal(roles(front), "user assistant tool assistant")
	}

	// One that is not answered.
	const rude = start("clerk")
	say(rude, "weather")
	await run(rude, {tools})
	say(rude, "never mind")
	await run(rude, {tools})
	assert.match(last(rude).content, /never mind/)

	// Interrupts: announced again, answered wrongly, and answered twice.
	const payer = start("clerk")
	say(payer, "pay")
	await run(payer)
	const [interrupt] = events.at(-1).outcome.interrupts
	assert.equal(events.at(-1).outcome.type, "interrupt")
	assert.equal(interrupt.toolCallId, last(payer).toolCalls[0].id)
	assert.equal(interrupt.metadata.tool, "pay")
	const reloaded = start("clerk", {threadId: payer.threadId, initialMessages: structuredClone(payer.messages)})
	await run(reloaded)
	assert.deepEqual(events.at(-1).outcome.interrupts, [interrupt])
	const wrong = await run(payer, {resume: [{interruptId: interrupt.id, status: "resolved", payload: {approved: "maybe"}}]})
	assert.equal(wrong.code, "invalid_resume_payload")
	const resume = [{interruptId: interrupt.id, status: "resolved", payload: {approved: true}}]
	const held = structuredClone(payer.messages)
	await run(payer, {resume})
	assert.equal(last(payer).content, "It is pay done.")
	assert.equal(payer.messages.at(-2).toolCallId, interrupt.toolCallId)
	const again = start("clerk", {threadId: payer.threadId, initialMessages: held})
	await run(again, {resume})
	assert.equal(last(again).content, "It is pay done.")
	const refused = start("clerk")
	say(refused, "pay")
	await run(refused)
	await run(refused, {resume: [{interruptId: events.at(-1).outcome.interrupts[0].id, status: "cancelled"}]})
	assert.match(last(refused).content, /^It is .*(denied|refused|not)/)
	assert.equal((await run(start("clerk"), {resume: [{interruptId: interrupt.id, status: "cancelled"}]})).code, "unknown_interrupt")

	// State, artifacts, delegates, variables.
	const boss = start("boss", {initialState: {notes: 4}})
	say(boss, "note")
	await run(boss)
	assert.deepEqual(boss.state, {notes: 5})
	assert.equal(events.find(e => e.type === "CUSTOM").value.name, "note.txt")
	const fresh = start("boss", {threadId: boss.threadId})
	await run(fresh)
	assert.deepEqual(fresh.state, {notes: 5})
	assert.equal(roles(fresh), "user assistant tool assistant")
	assert.deepEqual(fresh.messages.map(m => m.id), boss.messages.map(m => m.id))
	say(boss, "delegate")
	await run(boss)
	assert.match(last(boss).content, /You said hi/)
	assert.equal(boss.messages.filter(m => m.role === "activity").length, 1)
	say(boss, "who are you")
	await run(boss, {forwardedProps: {tone: "short", other: 1}, context: [{description: "The page", value: "cart"}]})
	assert.match(last(boss).content, /Be short\.[^]*The page:\ncart/)

	// Failures.
	const broken = start("clerk")
	say(broken, "break")
	assert.equal((await run(broken)).code, "invalid_request")
	assert.equal(last(broken).content, "well")
	say(broken, "hello")
	await run(broken)
	assert.equal(last(broken).content, "You said hello")
	await assert.rejects(run(start("nobody")), e => e.status === 404 && e.payload.error === "agent_not_found")
	await assert.rejects(run(start("clerk", {headers: {Authorization: "Bearer mallory"}})), e => e.status === 401)
	say(front, "look")
	await assert.rejects(run(front, {tools: [{name: "look", description: ""}]}), e => e.status === 400 && /"look"/.test(e.payload.message))

	// A run that is stopped while its client waits.
	const stopped = start("clerk")
	say(stopped, "hang")
	const running = run(stopped)
	while (!events.some(e => e.type === "TEXT_MESSAGE_CONTENT")) await new Promise(setImmediate)
	const busy = start("clerk", {threadId: stopped.threadId})
	say(busy, "me too")
	await assert.rejects(busy.runAgent({tools: []}), e => e.status === 409 && e.payload.error === "thread_busy")
	const stop = await fetch(base + "clerk/" + stopped.threadId + "/stop", {method: "POST", headers})
	assert.deepEqual(await stop.json(), {stopped: true})
	const ended = await running
	assert.equal(version === "1.0" ? events.at(-1).outcome.type : ended.code, "cancelled")
}

for (const type of ["RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "STEP_STARTED", "STEP_FINISHED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END",
	"TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "ACTIVITY_SNAPSHOT",
	"REASONING_START", "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END", "REASONING_END", "CUSTOM"]) {
	assert.ok(seen.has(type), type + " was not sent")
}
console.log([...seen].sort().join(" "))
