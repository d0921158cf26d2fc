// Drives the server with the vendor's SDK.
import assert from "node:assert/strict"
import OpenAI, {APIError, AuthenticationError, BadRequestError, NotFoundError} from "openai"

const baseURL = process.argv[2] + "/v1"
const client = new OpenAI({baseURL, apiKey: "alice"})
const model = "clerk"
const say = content => [{role: "user", content}]
const parameters = {type: "object", properties: {city: {type: "string"}}, required: ["city"], additionalProperties: false}
const form = {type: "json_schema", json_schema: {name: "person", strict: true, schema: {type: "object"}}}

const ids = []
for await (const m of client.models.list()) ids.push(m.id)
assert.deepEqual(ids.sort(), ["clerk", "plain"])
await assert.rejects(client.models.retrieve("nope"), e => e instanceof NotFoundError && e.code === "model_not_found" && !!e.requestID)

// Chat completions.
const stream = client.chat.completions.stream({model, messages: say("look"), stream_options: {include_usage: true}})
const whole = await stream.finalChatCompletion()
assert.equal(whole.choices[0].message.content, "Let me look.\n\nIt is look done.")
assert.equal(whole.choices[0].finish_reason, "stop")
assert.equal(whole.usage.total_tokens, 30)
const parsed = await client.chat.completions.parse({model, messages: say("json"), response_format: form})
assert.deepEqual(JSON.parse(parsed.choices[0].message.content), {name: "Ada", age: 36})
for (const streams of [false, true]) {
	const messages = say("weather again")
	for (let n = 0; n < 2; n++) {
		const body = {model, messages, tools: [{type: "function", function: {name: "get_weather", parameters}}]}
		const c = streams ? await client.chat.completions.stream(body).finalChatCompletion() : await client.chat.completions.create(body)
		const message = c.choices[0].message
		assert.equal(message.tool_calls[0].function.arguments, '{"city":"Bern"}')
		messages.push(message, {role: "tool", tool_call_id: message.tool_calls[0].id, content: "sunny " + n})
	}
	assert.equal((await client.chat.completions.create({model, messages})).choices[0].message.content, "It is sunny 1.")
}

// Responses.
const first = await client.responses.create({model, input: "one"})
const second = await client.responses.create({model, input: "history", previous_response_id: first.id})
assert.match(second.output_text, /user:one\|assistant:You said one\|user:history$/)
const final = await client.responses.stream({model, input: "look"}).finalResponse()
assert.equal(final.output_text, "Let me look.\nIt is look done.")
assert.equal((await client.responses.retrieve(final.id)).output_text, final.output_text)
const answer = await client.responses.parse({model, input: "json", text: {format: {type: "json_schema", name: "person", schema: {type: "object"}}}})
assert.deepEqual(JSON.parse(answer.output_text), {name: "Ada", age: 36})
const tools = [{type: "function", name: "get_weather", parameters, strict: true}]
const asked = await client.responses.create({model, input: "weather twice", tools})
const outputs = asked.output.map(({call_id}, n) => ({type: "function_call_output", call_id, output: "sunny " + n})).reverse()
assert.equal((await client.responses.create({model, input: outputs, previous_response_id: asked.id, tools})).output_text, "It is sunny 0 and sunny 1.")

// In the background, with a connection that drops.
let r = await client.responses.create({model, input: "hi", background: true})
while (r.status === "queued" || r.status === "in_progress") r = await client.responses.retrieve(r.id)
assert.equal(r.output_text, "You said hi")
const seen = []
let id
for await (const event of await client.responses.create({model, input: "look", background: true, stream: true})) {
	if (event.type === "response.created") id = event.response.id
	seen.push(event.sequence_number)
	if (seen.length === 5) break
}
for await (const event of await client.responses.retrieve(id, {stream: true, starting_after: 4})) seen.push(event.sequence_number)
assert.deepEqual(seen, seen.map((_, n) => n))
const again = await client.responses.stream({response_id: id, starting_after: 4}).finalResponse()
assert.match(again.output_text, /look done\.$/)
const long = await client.responses.create({model, input: "hang", background: true})
assert.equal((await client.responses.cancel(long.id)).status, "cancelled")

// Conversations.
const conversation = await client.conversations.create({items: [{type: "message", role: "user", content: "one"}]})
await client.responses.create({model, input: "hi", conversation: conversation.id})
const items = []
for await (const item of client.conversations.items.list(conversation.id, {order: "asc", limit: 1})) items.push(item.role)
assert.deepEqual(items, ["user", "user", "assistant"])

// Exceptions.
await assert.rejects(client.chat.completions.create({model, messages: say("hi"), n: 2}), e => e instanceof BadRequestError && e.param === "n")
await assert.rejects(new OpenAI({baseURL, apiKey: "nobody"}).models.list(), AuthenticationError)
await assert.rejects(client.chat.completions.stream({model, messages: say("break")}).finalChatCompletion(), e => e instanceof APIError && /does not like it/.test(e.message))
