package agentruns

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/openapi"
)

var _ server.DeferredDescriber = (*Surface)(nil)

// OpenAPI describes the routes.
func (*Surface) OpenAPI() []byte { return description() }

// DeferDescription does nothing: tests check the description against the routes.
func (*Surface) DeferDescription() {}

var description = sync.OnceValue(func() []byte {
	return server.DescribeAPI(&openapi.API{
		Title: "Agent runs",
		Doc: "Runs of declared agents, and of agents that a request describes itself. A client begins a run, follows its events, and answers the calls of the tools that it runs itself. Runs of a session follow one another and know what was said before.\n\n" +
			"The workspace in a path is the tenant of the credential. What a request does not name has its default; a field that is null counts as absent, and fields that are not described here are ignored.",
		Operations: describeOperations(),
		Components: append(describeEvents(), describeTypes()...),
		Wildcards: map[string]string{
			"{workspace}": "The tenant of the credential.", "agent-runs/{id}": "The runId.", "agent-sessions/{id}": "The sessionId.",
			"agents/{agent}": "The id of a declared agent.", "{interaction}": "The interactionId, or the id of the call that waits.",
		},
		Error: new(failure("Why the request was refused.")),
	}, new(Surface).Routes())
})

// failure describes a rejected request.
func failure(doc string) openapi.Answer { return openapi.Answer{Doc: doc, Body: errorBody{}} }

// describeOperations describes the routes by their ID.
func describeOperations() map[string]openapi.OperationDoc {
	key := openapi.Parameter{
		Name: "Idempotency-Key", In: "header", Schema: openapi.Object{"type": "string", "minLength": 1, "maxLength": 255},
		Doc: "Makes the request repeatable: the same key with the same body returns what was made first. Keys belong to the tenant and subject of the credential, those of messages to their session, and are kept as long as `store.retention.keys` says.",
	}
	begun := openapi.Answer{Doc: "Where the run is found.", Body: runRef{}, Examples: openapi.Examples{"begun": {
		JSON: `{"runId":"run_019aa7c4-53f1-7c3e-9a0b-2f6d5f6f0c11","streamUrl":"/api/v1/workspaces/acme/agent-runs/run_019aa7c4-53f1-7c3e-9a0b-2f6d5f6f0c11/stream"}`,
	}}}
	invalid := failure("The request is not as it has to be. The code is `invalid_request`, `invalid_model` or `invalid_plugin`.")
	invalid.Examples = openapi.Examples{"model": {
		JSON: `{"error":"invalid_model","code":"invalid_model","message":"modelId \"platform:fats\" is not known","hint":"modelId \"platform:fats\" is not known; did you mean \"platform:fast\"?","candidates":["platform:fast","platform:deep"]}`,
	}}
	forbidden := failure("The credential may not use the agent, or there is none (`forbidden`); or it lacks the scope (`insufficient_scope`).")
	forbidden.Examples = openapi.Examples{
		"agent": {JSON: `{"error":"forbidden","code":"forbidden","message":"agent \"clerk\" is not available with this credential","hint":"agent \"clerk\" is not available with this credential"}`},
		"scope": {JSON: `{"error":"insufficient_scope","code":"insufficient_scope","hint":"the credential lacks the scope runs:write","required":"runs:write"}`},
	}
	wrongWorkspace := failure("The workspace in the path is not that of the credential.")
	wrongWorkspace.Examples = openapi.Examples{"workspace": {JSON: `{"error":"Workspace path does not match this credential","code":"not_found","hint":"acme"}`}}
	notFound := failure("There is none with this id, it is somebody else's, or the workspace is not that of the credential.")
	unsupported := failure("The server does not have this (`not_supported`).")
	keyConflict := failure("The Idempotency-Key was used for a request with another body (`key_conflict`).")

	const (
		ok        = http.StatusOK
		bad       = http.StatusBadRequest
		deny      = http.StatusForbidden
		missing   = http.StatusNotFound
		conflict  = http.StatusConflict
		unmatched = http.StatusUnprocessableEntity
	)
	number := openapi.Object{"type": "integer", "minimum": 0}
	type answers = map[int]openapi.Answer
	return map[string]openapi.OperationDoc{
		"listModels": {Summary: "List the models that specs may name", Answers: answers{ok: {Doc: "The models.", Body: modelList{}}, missing: wrongWorkspace}},
		"createRun": {
			Summary:    "Begin a run",
			Doc:        "The run is kept before the answer is given, and continues whether or not anybody follows it. Errors in the request are reported now, later ones by the event `error`.",
			Parameters: []openapi.Parameter{key}, Body: runBody{},
			Examples: openapi.Examples{
				"declared": {Summary: "A declared agent", JSON: `{"agentId":"clerk","prompt":"Where is order 17?"}`},
				"brought": {Summary: "An agent of the request, with a tool that the client runs", JSON: `{"systemPrompt":"You look after a garden.","modelId":"platform:fast","prompt":"Shall I water the roses?","reasoningLevel":"low",
"tools":[{"kind":"local","name":"soil_moisture","description":"Measure how moist a bed is.","parameters":{"type":"object","properties":{"bed":{"type":"string"}},"required":["bed"]}},
{"kind":"mcp","name":"weather","url":"https://weather.example.com/mcp","headers":{"Authorization":"Bearer secret"},"toolFilter":["forecast"]}],
"budgets":{"maxToolTurns":8},"toolBudgets":{"soil_moisture":{"maxCalls":3}},"loopDetection":{"consecutiveThreshold":3,"hardCutoffThreshold":6},
"outputSchema":{"name":"advice","schema":{"type":"object","properties":{"water":{"type":"boolean"}},"required":["water"]}},"metadata":{"garden":"7"}}`},
			},
			Answers: answers{http.StatusAccepted: begun, bad: invalid, deny: forbidden, missing: wrongWorkspace, unmatched: keyConflict},
		},
		"readRun": {Summary: "Read a run", Answers: answers{ok: {Doc: "The run as it is.", Body: runView{}}, missing: notFound}},
		"followRun": {
			Summary: "Follow the events of a run",
			Doc: "The answer begins with the events there are, in their order, and continues with new ones. It ends with the event `result`, `error` or `cancelled`, of which a run has exactly one. " +
				"A stream that breaks off before is resumed behind the last event that was read: by the `seq` of that event in `lastSeq`, or in the header `Last-Event-ID`. A run can be followed as often as wanted, also when it has ended.",
			Parameters: []openapi.Parameter{
				{Name: "lastSeq", In: "query", Schema: number, Doc: "The number of the last event that the client has. It wins over the header; anything but a number counts as 0, which is the beginning."},
				{Name: "after", In: "query", Schema: number, Doc: "The same as `lastSeq`, which wins over it."},
				{Name: "Last-Event-ID", In: "header", Schema: number, Doc: "The same, as browsers send it."},
			},
			Answers: answers{ok: {
				Doc:     "Server-sent events. Each has its number as `id`, its type as `event`, and one line `data` with JSON, which the schema describes. Comments keep the connection open.",
				Headers: openapi.Object{"Cache-Control": openapi.Object{"required": true, "schema": openapi.Object{"const": "no-cache, no-transform"}}},
				Media:   "text/event-stream", Body: openapi.Ref("Event"),
				Examples: openapi.Examples{"delta": {JSON: `{"seq":2,"type":"assistant_delta","text":"Yes, ","data":{"text":"Yes, "}}`}},
			}, missing: notFound},
		},
		"answerToolCall": {
			Summary: "Answer the call of a tool that the client runs",
			Doc:     "Calls are made by the event `local_tool_call`. Several may be open, and are answered in any order, each once.",
			Body:    toolResultBody{},
			Examples: openapi.Examples{
				"result":  {JSON: `{"toolUseId":"call_1","result":"{\"moisture\":0.2}"}`},
				"failure": {JSON: `{"toolUseId":"call_1","error":"there is no bed 9"}`},
			},
			Answers: answers{
				ok:       {Doc: "The run continues with it; or the run was cancelled while the call was open, and drops it.", Body: done{}},
				bad:      invalid,
				missing:  failure("The run does not exist, or is somebody else's (`not_found`); or no such call is open: it was answered already, or was never made (`unknown_tool_use`)."),
				conflict: failure("The run has ended (`run_terminal`)."),
			},
		},
		"answerInteraction": {
			Summary: "Answer what a run waits for",
			Doc:     "A run says by the event `interaction_requested` what it waits for, such as an approval, and lists it as `pendingInteractions`. The same answer again changes nothing.",
			Body:    resolutionBody{},
			Examples: openapi.Examples{
				"approval": {JSON: `{"result":{"approved":true}}`},
				"refusal":  {JSON: `{"action":"cancel","reason":"not today"}`},
			},
			Answers: answers{
				ok: {Doc: "The run continues with it.", Body: done{}}, bad: invalid,
				missing:  failure("The run does not exist, or is somebody else's (`not_found`); or it never asked for that (`unknown_interaction`)."),
				conflict: failure("It has another answer already (`answered`), or the run has ended without one (`run_terminal`)."),
			},
		},
		"cancelRun": {
			Summary: "Cancel a run",
			Doc:     "A run that has ended stays as it is. It may be cancelled any number of times.",
			Answers: answers{
				ok:      {Doc: "What has become of the run.", Body: openapi.Object{"allOf": []any{openapi.Ref("Done")}, "required": []string{"status"}}},
				missing: notFound,
			},
		},
		"listSessions": {Summary: "Rejected, because lists of sessions are not supported", Answers: answers{missing: wrongWorkspace, http.StatusNotImplemented: unsupported}},
		"createSession": {
			Summary: "Begin a session", Doc: "The body is that of a run without its input. It is checked as a run would be.",
			Parameters: []openapi.Parameter{key}, Body: sessionBody{},
			Examples: openapi.Examples{"declared": {JSON: `{"agentId":"clerk","metadata":{"desk":"front"}}`}},
			Answers:  answers{http.StatusCreated: {Doc: "The session.", Body: sessionRef{}}, bad: invalid, deny: forbidden, missing: wrongWorkspace, unmatched: keyConflict},
		},
		"readSessionEvents": {Summary: "Rejected, because events of sessions are not supported", Answers: answers{missing: notFound, http.StatusNotImplemented: unsupported}},
		"sendFeedback":      {Summary: "Rejected, because feedback is not supported", Answers: answers{missing: notFound, http.StatusNotImplemented: unsupported}},
		"readSession":       {Summary: "Read a session and what was said in it", Answers: answers{ok: {Doc: "The session.", Body: sessionView{}}, missing: notFound}},
		"endSession": {
			Summary: "End a session",
			Doc:     "It takes no more messages, and runs that are under way are cancelled. It can still be read, and ended again.",
			Answers: answers{ok: {Doc: "It has ended.", Body: done{}}, missing: notFound},
		},
		"sendMessage": {
			Summary: "Begin a run in a session",
			Doc: "Runs of a session take place one after another. What the message names takes the place of what the session says, for this run alone; metadata is added to that of the session. " +
				"`tools: []` is a run without tools. A run that succeeds adds what was said to the session.",
			Parameters: []openapi.Parameter{key}, Body: messageBody{},
			Examples: openapi.Examples{"next": {JSON: `{"prompt":"And order 18?","reasoningLevel":50}`}},
			Answers:  answers{http.StatusAccepted: begun, bad: invalid, deny: forbidden, missing: notFound, conflict: failure("The session has ended (`session_ended`)."), unmatched: keyConflict},
		},
		"userInfo": {Summary: "Read whom the credential stands for", Answers: answers{ok: {Doc: "The subject and the workspace.", Body: identity{}}}},
		"callAgent": {
			Summary: "Say something to an agent, and wait for what it says",
			Doc: "JSON-RPC as in [A2A 0.3](https://a2a-protocol.org/v0.3.0/specification/), with the method `message/send` alone. " +
				"The answer comes when the run has ended. The contextId of an answer names the conversation; a message with it continues that conversation.",
			Body: openapi.Parse(`{"type":"object","required":["jsonrpc","method","params"],"properties":{
"jsonrpc":{"const":"2.0"},"id":{"type":["string","number","null"]},"method":{"const":"message/send"},
"params":{"type":"object","required":["message"],"properties":{"message":{"type":"object","required":["parts"],"properties":{
"kind":{"type":"string"},"messageId":{"type":"string"},"contextId":{"type":"string"},"role":{"type":"string"},
"parts":{"type":"array","minItems":1,"items":{"$ref":"#/components/schemas/TextPart"}}}}}}}}`),
			Examples: openapi.Examples{"order": {JSON: `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m1","role":"user","parts":[{"kind":"text","text":"Where is order 17?"}]}}}`}},
			Answers:  answers{ok: {Doc: "What the agent says, or why it says nothing.", Body: openapi.Ref("RPCAnswer")}, deny: forbidden, missing: wrongWorkspace},
		},
		"agentCard": {Summary: "Read the card of an agent", Answers: answers{
			ok: {Doc: "The card, as in A2A 0.3.", Body: openapi.Parse(`{"type":"object","additionalProperties":true,"required":
["protocolVersion","name","description","version","url","preferredTransport","capabilities","defaultInputModes","defaultOutputModes","skills"]}`)},
			deny: forbidden, missing: wrongWorkspace,
		}},
		"discoverAgents": {Summary: "List the agents that the credential may use", Answers: answers{ok: {Doc: "The agents.", Body: agentList{}}, missing: wrongWorkspace}},
	}
}

// describeEvents describes the events of runs and their payloads.
func describeEvents() []openapi.Component {
	var list []openapi.Component
	kinds := map[string]string{}
	for _, e := range []struct {
		of        payload
		name, doc string
		// cut is set if the payload says that it is incomplete.
		cut bool
	}{
		{started{}, "", "The run has begun.", false},
		{assistantDelta{}, "Delta", "A piece of what the model says.", true},
		{thinkingDelta{}, "Delta", "A piece of what the model thinks, for runs with a reasoningLevel and models that show it.", true},
		{deltasReset{}, "DeltasReset", "The model is asked anew, because its answer broke off or its server died. The deltas from fromSeq on, up to this event, do not count any more.", false},
		{assistantMessage{}, "AssistantMessage", "A call of the model has ended. It comes before the events of the calls that the message makes.", true},
		{toolCall{}, "ToolCall", "The server runs a tool.", true},
		{toolResult{}, "ToolOutcome", "What a call came to that the server made, or refused to make.", true},
		{localToolCall{}, "LocalToolCall", "The client is to run a tool, and to answer with what it came to.", true},
		{localToolResultIn{}, "LocalToolResult", "The client has answered a call.", true},
		{interactionView{}, "Interaction", "The run waits for something that is not for its client alone, such as an approval.", true},
		{interactionResolved{}, "InteractionResolved", "What the run waited for has an answer.", true},
		{loopDetected{}, "LoopDetected", "The model makes the same calls again and again. They were not made, as their results say.", false},
		{toolBudgetExceeded{}, "ToolBudgetExceeded", "A call was not made, because its tool has used up its budget. It comes after the result that says so.", false},
		{runResult{}, "Result", "The run has ended.", true},
		{runError{}, "Failure", "The run has failed.", true},
		{canceled{}, "Cancelled", "The run was cancelled.", false},
	} {
		data, all := openapi.Object{"maxProperties": 0}, []any{openapi.Ref("Numbered")}
		if e.name != "" {
			data, all = openapi.Ref(e.name), append(all, openapi.Ref(e.name))
			more := openapi.Object{}
			if e.name == "Result" {
				more = openapi.Parse(`{"oneOf":[{"required":["text"],"properties":{"ok":{"const":true},"subtype":{"const":"success"}}},
{"required":["error"],"properties":{"ok":{"const":false},"subtype":{"const":"error_max_tool_turns"}}}]}`)
			}
			if e.cut {
				more["properties"] = openapi.Object{"truncated": openapi.Ref("Truncated")}
			}
			list = append(list, openapi.Component{Of: e.of, Name: e.name, More: more})
		}
		name := ""
		for word := range strings.SplitSeq(e.of.eventKind(), "_") {
			name += strings.ToUpper(word[:1]) + word[1:]
		}
		name += "Event"
		kinds[e.of.eventKind()] = name
		list = append(list, openapi.Component{Name: name, Doc: e.doc, Schema: openapi.Object{
			"allOf": all, "properties": openapi.Object{"type": openapi.Object{"const": e.of.eventKind()}, "data": data},
		}})
	}
	return append(list, openapi.Component{
		Name: "Event", Doc: "An event of a run. What it says stands beside the type, and again in `data`: clients may read either.",
		Schema: oneOf("type", kinds),
	})
}

// oneOf describes an object of one of several components, by the value of a property.
func oneOf(property string, components map[string]string) openapi.Object {
	list, mapping := []any{}, openapi.Object{}
	for _, value := range slices.Sorted(maps.Keys(components)) {
		ref := openapi.Ref(components[value])
		list, mapping[value] = append(list, ref), ref["$ref"]
	}
	return openapi.Object{"oneOf": list, "discriminator": openapi.Object{"propertyName": property, "mapping": mapping}}
}

// describeTypes describes the other types.
func describeTypes() []openapi.Component {
	parse, open := openapi.Parse, openapi.Object{"additionalProperties": true}
	return []openapi.Component{
		{Name: "Numbered", Schema: parse(`{"type":"object","required":["seq","type","data"],"properties":{
"seq":{"type":"integer","minimum":1,"description":"The number of the event in its run. There are no gaps."},"type":{"type":"string"},"data":{"type":"object"}}}`)},
		{Name: "Truncated", Doc: "What the event says was cut off, because it had more than 1 MiB.", Schema: openapi.Object{"const": true}},
		{Name: "Arguments", Doc: "The arguments, an object unless the model made a mistake."},
		{Name: "FinishReason", Doc: "Why the model stopped.", Schema: parse(`{"type":["string","null"],"examples":["end_turn","tool_use","max_tokens","refusal"]}`)},
		{Name: "Status", Schema: parse(`{"type":"string","enum":["queued","running","succeeded","failed","cancelled"]}`)},
		{Of: moment{}, Schema: parse(`{"type":"string","format":"date-time"}`)},
		{Of: usage{}, Name: "Usage", Doc: "What the run has used."},
		{Of: tokens{}, Name: "Tokens", Doc: "What all calls of the model have used together. Cached tokens are among the input, reasoning tokens among the output."},
		{Of: modelUsed{}, Name: "ModelUsed"},
		{Of: errorBody{}, Name: "Error"},
		{Of: done{}, Name: "Done"},
		{Of: modelList{}, Name: "Models"},
		{Of: warnings{}, Name: "Warnings", Doc: "What of the request has no effect; left out when there is nothing."},
		{Of: runView{}, Name: "Run"},
		{Of: sessionView{}, Name: "Session"},
		{Of: fields{}, Name: "KeptSpec", Doc: "What was asked for, without the input and the values of headers.", Schema: openapi.Object{"allOf": []any{openapi.Ref("Spec")}}},
		{Of: pendingInteraction{}, Name: "PendingInteraction"},
		{Of: inputMessage{}, Name: "Message"},
		{Of: attachment{}, Name: "Attachment"},

		{Of: runBody{}, Name: "CreateRun", Doc: "An agent, and what it is to work on.", More: parse(`{"anyOf":[{"required":["agentId"]},{"required":["systemPrompt"]},
{"required":["messages"],"properties":{"messages":{"contains":{"properties":{"role":{"const":"system"}},"required":["role"]}}}}]}`)},
		{Of: sessionBody{}, Name: "CreateSession", More: parse(`{"anyOf":[{"required":["agentId"]},{"required":["systemPrompt"]}]}`)},
		{Of: messageBody{}, Name: "SendMessage"},
		{Of: inputBody{}, Name: "Input", Doc: "Either a prompt or messages.", More: parse(`{"oneOf":[{"required":["prompt"],"properties":{"prompt":{"minLength":1},"messages":{"maxItems":0}}},
{"required":["messages"],"properties":{"messages":{"minItems":1},"prompt":{"maxLength":0}}}]}`)},
		{Of: specBody{}, Name: "Spec", Doc: "An agent: a declared one, with what the spec adds to it, or one that the spec describes. It has an agentId or a systemPrompt; instead, a run may have a message of the system."},
		{Of: runOptions{}, Name: "RunOptions"},
		{Of: loopBody{}, Name: "LoopThresholds"},
		{Of: toolResultBody{}, Name: "ToolResult", Doc: "Either a result or an error. With neither the result is empty, unless the server is strict.", More: parse(`{"not":{"required":["result","error"]}}`)},
		{Of: resolutionBody{}, Name: "Resolution"},

		{
			Of: toolRef{}, Name: "Tool",
			Doc: "A tool of the run. The server runs `mantyx`, `mantyx_plugin`, `a2a` and `mcp`. The client runs `local`, `a2a_local` and `mcp_local`: their calls are events, which it answers.",
			Schema: oneOf("kind", map[string]string{
				kindMantyx: "MantyxTool", kindPlugin: "MantyxPluginTool", kindLocal: "LocalTool", kindA2A: "A2ATool", kindA2ALocal: "A2ALocalTool",
				kindMCP: "MCPTool", kindMCPLocal: "MCPLocalTool",
			}),
		},
		{Of: mantyxTool{}, Name: "MantyxTool", Doc: "A tool that the server declares.", More: open},
		{Of: pluginTool{}, Name: "MantyxPluginTool", Doc: "A tool of a plugin, or of a server of tools, that the server declares.", More: open},
		{Of: localTool{}, Name: "LocalTool", Doc: "A function of the client.", More: open},
		{Of: a2aTool{}, Name: "A2ATool", Doc: "An agent elsewhere, which the server speaks to.", More: open},
		{Of: a2aLocalTool{}, Name: "A2ALocalTool", Doc: "An agent that the client speaks to.", More: open},
		{Of: mcpServerTool{}, Name: "MCPTool", Doc: "A server of tools, which the server speaks to. Its tools are called after it, as in weather_forecast.", More: open},
		{Of: mcpLocalTool{}, Name: "MCPLocalTool", Doc: "A server of tools that the client speaks to.", More: open},
		{Of: cardSkill{}, More: open},
		{Of: mcpTool{}, More: open},
		{Name: "ToolName", Schema: parse(`{"type":"string","pattern":"^[a-zA-Z0-9_]{1,64}$"}`)},
		{Name: "Address", Doc: "An http or https address without credentials. Private addresses are refused unless the server allows them.", Schema: parse(`{"type":"string","format":"uri","pattern":"^[hH][tT][tT][pP][sS]?://"}`)},
		{Name: "Headers", Doc: "What requests have besides. Where a spec is read back the values are `***`.", Schema: parse(`{"type":"object","additionalProperties":{"type":"string","maxLength":8192}}`)},

		{Name: "TextPart", Schema: parse(`{"type":"object","required":["kind","text"],"properties":{"kind":{"const":"text"},"text":{"type":"string"}}}`)},
		{Name: "RPCAnswer", Schema: parse(`{"type":"object","required":["jsonrpc","id"],"properties":{"jsonrpc":{"const":"2.0"},"id":{"description":"That of the request."},
"result":{"type":"object","required":["kind","messageId","contextId","role","parts","metadata"],"properties":{"kind":{"const":"message"},"messageId":{"type":"string"},"contextId":{"type":"string"},"role":{"const":"agent"},
"parts":{"type":"array","items":{"$ref":"#/components/schemas/TextPart"}},
"metadata":{"type":"object","required":["mantyx"],"properties":{"mantyx":{"$ref":"#/components/schemas/Usage"}}}}},
"error":{"type":"object","required":["code","message"],"properties":{"code":{"type":"integer","description":"One of JSON-RPC, or -32000 for a run that failed."},"message":{"type":"string"},
"data":{"type":"object","properties":{"code":{"type":"string","description":"A code for programs: an error code from above, the subtype or class of the run's termination, or cancelled."},"mantyx":{"$ref":"#/components/schemas/Usage"}}}}}},
"oneOf":[{"required":["result"]},{"required":["error"]}]}`)},
	}
}
