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
		Doc: "Runs of declared agents and of agents defined in the request. A client creates a run, follows its events, and answers calls of the tools it runs itself. Runs of a session take place one after another and share its history.\n\n" +
			"The workspace in a path is the tenant of the credential. Omitted fields have their defaults, null fields count as omitted, and unknown fields are ignored.",
		Operations: describeOperations(),
		Components: append(describeEvents(), describeTypes()...),
		Wildcards: map[string]string{
			"{workspace}": "The tenant of the credential.", "agent-runs/{id}": "The runId.", "agent-sessions/{id}": "The sessionId.",
			"agents/{agent}": "The id of a declared agent.", "{interaction}": "The interactionId, or the id of the call that waits.",
		},
		Error: new(describeFailure("The request is rejected.")),
	}, new(Surface).Routes())
})

// describeFailure describes a rejected request.
func describeFailure(doc string) openapi.Answer { return openapi.Answer{Doc: doc, Body: errorBody{}} }

// describeOperations describes the routes by their ID.
func describeOperations() map[string]openapi.OperationDoc {
	key := openapi.Parameter{
		Name: "Idempotency-Key", In: "header", Schema: openapi.Object{"type": "string", "minLength": 1, "maxLength": 255},
		Doc: "Makes the request safe to repeat: the same key with the same body returns the first response. Keys belong to the tenant and subject of the credential, or to the session for messages, and expire after `store.retention.keys`.",
	}
	begun := openapi.Answer{Doc: "The id of the run and the URL of its events.", Body: runRef{}, Examples: openapi.Examples{"begun": {
		JSON: `{"runId":"run_019aa7c4-53f1-7c3e-9a0b-2f6d5f6f0c11","streamUrl":"/api/v1/workspaces/acme/agent-runs/run_019aa7c4-53f1-7c3e-9a0b-2f6d5f6f0c11/stream"}`,
	}}}
	invalid := describeFailure("The request is invalid. The code is `invalid_request`, `invalid_model` or `invalid_plugin`.")
	invalid.Examples = openapi.Examples{"model": {
		JSON: `{"error":"invalid_model","code":"invalid_model","message":"modelId \"platform:fats\" is not known","hint":"modelId \"platform:fats\" is not known; did you mean \"platform:fast\"?","candidates":["platform:fast","platform:deep"]}`,
	}}
	forbidden := describeFailure("The agent does not exist or the credential may not use it (`forbidden`), or the credential lacks the scope (`insufficient_scope`).")
	forbidden.Examples = openapi.Examples{
		"agent": {JSON: `{"error":"forbidden","code":"forbidden","message":"agent \"clerk\" is not available with this credential","hint":"agent \"clerk\" is not available with this credential"}`},
		"scope": {JSON: `{"error":"insufficient_scope","code":"insufficient_scope","hint":"the credential lacks the scope runs:write","required":"runs:write"}`},
	}
	wrongWorkspace := describeFailure("The workspace in the path is not the credential's.")
	wrongWorkspace.Examples = openapi.Examples{"workspace": {JSON: `{"error":"Workspace path does not match this credential","code":"not_found","hint":"acme"}`}}
	notFound := describeFailure("It does not exist, belongs to another caller, or the workspace is not the credential's.")
	unsupported := describeFailure("The server does not support this operation (`not_supported`).")
	keyConflict := describeFailure("The Idempotency-Key was used for a request with another body (`key_conflict`).")

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
		"listModels": {Summary: "List the models available to specs", Answers: answers{ok: {Doc: "The models.", Body: modelList{}}, missing: wrongWorkspace}},
		"createRun": {
			Summary:    "Create a run",
			Doc:        "The run is stored before the response and continues whether or not a client follows it. Errors in the request are reported in the response, later errors by the event `error`.",
			Parameters: []openapi.Parameter{key}, Body: runBody{},
			Examples: openapi.Examples{
				"declared": {Summary: "A declared agent", JSON: `{"agentId":"clerk","prompt":"Where is order 17?"}`},
				"brought": {Summary: "An agent defined in the request, with a tool that the client runs", JSON: `{"systemPrompt":"You look after a garden.","modelId":"platform:fast","prompt":"Shall I water the roses?","reasoningLevel":"low",
"tools":[{"kind":"local","name":"soil_moisture","description":"Measure how moist a bed is.","parameters":{"type":"object","properties":{"bed":{"type":"string"}},"required":["bed"]}},
{"kind":"mcp","name":"weather","url":"https://weather.example.com/mcp","headers":{"Authorization":"Bearer secret"},"toolFilter":["forecast"]}],
"budgets":{"maxToolTurns":8},"toolBudgets":{"soil_moisture":{"maxCalls":3}},"loopDetection":{"consecutiveThreshold":3,"hardCutoffThreshold":6},
"outputSchema":{"name":"advice","schema":{"type":"object","properties":{"water":{"type":"boolean"}},"required":["water"]}},"metadata":{"garden":"7"}}`},
			},
			Answers: answers{http.StatusAccepted: begun, bad: invalid, deny: forbidden, missing: wrongWorkspace, unmatched: keyConflict},
		},
		"readRun": {Summary: "Read a run", Answers: answers{ok: {Doc: "The current state of the run.", Body: runView{}}, missing: notFound}},
		"followRun": {
			Summary: "Follow the events of a run",
			Doc: "Returns the stored events in order, then new ones. The stream ends with the event `result`, `error` or `cancelled`; every run has exactly one of them. " +
				"To resume a broken stream, pass the `seq` of the last event in `lastSeq` or in the header `Last-Event-ID`. A run can be followed any number of times, also after its end.",
			Parameters: []openapi.Parameter{
				{Name: "lastSeq", In: "query", Schema: number, Doc: "The number of the last event received. It takes precedence over the header; anything but a number counts as 0, the beginning."},
				{Name: "after", In: "query", Schema: number, Doc: "An alias of `lastSeq`, which takes precedence."},
				{Name: "Last-Event-ID", In: "header", Schema: number, Doc: "The number of the last event received, as browsers send it."},
			},
			Answers: answers{ok: {
				Doc:     "Server-sent events. `id` is the event's number, `event` its type, and `data` one line of JSON that matches the schema. Comments keep the connection open.",
				Headers: openapi.Headers{"Cache-Control": {Schema: openapi.Object{"const": "no-cache, no-transform"}}},
				Media:   []string{"text/event-stream"}, Body: openapi.Ref("Event"),
				Examples: openapi.Examples{"delta": {JSON: `{"seq":2,"type":"assistant_delta","text":"Yes, ","data":{"text":"Yes, "}}`}},
			}, missing: notFound},
		},
		"answerToolCall": {
			Summary: "Answer a call of a tool that the client runs",
			Doc:     "The event `local_tool_call` announces a call. Several calls may be open; each is answered once, in any order.",
			Body:    toolResultBody{},
			Examples: openapi.Examples{
				"result":  {JSON: `{"toolUseId":"call_1","result":"{\"moisture\":0.2}"}`},
				"failure": {JSON: `{"toolUseId":"call_1","error":"there is no bed 9"}`},
			},
			Answers: answers{
				ok:       {Doc: "The run continues with the result. A run that was cancelled in the meantime drops it.", Body: done{}},
				bad:      invalid,
				missing:  describeFailure("The run does not exist or belongs to another caller (`not_found`), or the call is not open because it was answered already or never made (`unknown_tool_use`)."),
				conflict: describeFailure("The run has ended (`run_terminal`)."),
			},
		},
		"answerInteraction": {
			Summary: "Answer an interaction of a run",
			Doc:     "The event `interaction_requested` announces an interaction, such as an approval; the run lists it in `pendingInteractions`. Repeating the same answer has no effect.",
			Body:    resolutionBody{},
			Examples: openapi.Examples{
				"approval": {JSON: `{"result":{"approved":true}}`},
				"refusal":  {JSON: `{"action":"cancel","reason":"not today"}`},
			},
			Answers: answers{
				ok: {Doc: "The run continues with the answer.", Body: done{}}, bad: invalid,
				missing:  describeFailure("The run does not exist or belongs to another caller (`not_found`), or it has no such interaction (`unknown_interaction`)."),
				conflict: describeFailure("The interaction has a different answer (`answered`), or the run ended without one (`run_terminal`)."),
			},
		},
		"cancelRun": {
			Summary: "Cancel a run",
			Doc:     "A run that has ended does not change. The request may be repeated.",
			Answers: answers{
				ok:      {Doc: "The status of the run.", Body: openapi.Object{"allOf": []any{openapi.Ref("Done")}, "required": []string{"status"}}},
				missing: notFound,
			},
		},
		"listSessions": {Summary: "List sessions (not supported)", Answers: answers{missing: wrongWorkspace, http.StatusNotImplemented: unsupported}},
		"createSession": {
			Summary: "Create a session", Doc: "The body is that of a run without input, with the same checks.",
			Parameters: []openapi.Parameter{key}, Body: sessionBody{},
			Examples: openapi.Examples{"declared": {JSON: `{"agentId":"clerk","metadata":{"desk":"front"}}`}},
			Answers:  answers{http.StatusCreated: {Doc: "The session.", Body: sessionRef{}}, bad: invalid, deny: forbidden, missing: wrongWorkspace, unmatched: keyConflict},
		},
		"readSessionEvents": {Summary: "Read the events of a session (not supported)", Answers: answers{missing: notFound, http.StatusNotImplemented: unsupported}},
		"sendFeedback":      {Summary: "Send feedback (not supported)", Answers: answers{missing: notFound, http.StatusNotImplemented: unsupported}},
		"readSession":       {Summary: "Read a session with its messages", Answers: answers{ok: {Doc: "The session.", Body: sessionView{}}, missing: notFound}},
		"endSession": {
			Summary: "End a session",
			Doc:     "The session accepts no more messages, and its active runs are cancelled. It can still be read. The request may be repeated.",
			Answers: answers{ok: {Doc: "The session has ended.", Body: done{}}, missing: notFound},
		},
		"sendMessage": {
			Summary: "Create a run in a session",
			Doc: "Runs of a session take place one after another. Fields of the message replace those of the session for this run only; metadata is added to the session's. " +
				"`tools: []` runs without tools. A successful run adds its messages to the session.",
			Parameters: []openapi.Parameter{key}, Body: messageBody{},
			Examples: openapi.Examples{"next": {JSON: `{"prompt":"And order 18?","reasoningLevel":50}`}},
			Answers:  answers{http.StatusAccepted: begun, bad: invalid, deny: forbidden, missing: notFound, conflict: describeFailure("The session has ended (`session_ended`)."), unmatched: keyConflict},
		},
		"userInfo": {Summary: "Read the identity of the credential", Answers: answers{ok: {Doc: "The subject and the workspace.", Body: identity{}}}},
		"callAgent": {
			Summary: "Send a message to an agent and wait for the response",
			Doc: "JSON-RPC as in [A2A 0.3](https://a2a-protocol.org/v0.3.0/specification/). The only method is `message/send`. " +
				"The response is sent when the run has ended. Its contextId names the conversation; a message with that contextId continues it.",
			Body: openapi.Parse(`{"type":"object","required":["jsonrpc","method","params"],"properties":{
"jsonrpc":{"const":"2.0"},"id":{"type":["string","number","null"]},"method":{"const":"message/send"},
"params":{"type":"object","required":["message"],"properties":{"message":{"type":"object","required":["parts"],"properties":{
"kind":{"type":"string"},"messageId":{"type":"string"},"contextId":{"type":"string"},"role":{"type":"string"},
"parts":{"type":"array","minItems":1,"items":{"$ref":"#/components/schemas/TextPart"}}}}}}}}`),
			Examples: openapi.Examples{"order": {JSON: `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m1","role":"user","parts":[{"kind":"text","text":"Where is order 17?"}]}}}`}},
			Answers:  answers{ok: {Doc: "The agent's message, or the reason why there is none.", Body: openapi.Ref("RPCAnswer")}, deny: forbidden, missing: wrongWorkspace},
		},
		"agentCard": {Summary: "Read an agent's card", Answers: answers{
			ok: {Doc: "The card, in the format of A2A 0.3.", Body: openapi.Parse(`{"type":"object","additionalProperties":true,"required":
["protocolVersion","name","description","version","url","preferredTransport","capabilities","defaultInputModes","defaultOutputModes","skills"]}`)},
			deny: forbidden, missing: wrongWorkspace,
		}},
		"discoverAgents": {Summary: "List the agents available to the credential", Answers: answers{ok: {Doc: "The agents.", Body: agentList{}}, missing: wrongWorkspace}},
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
		{assistantDelta{}, "Delta", "A piece of the model's text.", true},
		{thinkingDelta{}, "Delta", "A piece of the model's reasoning, for runs with a reasoningLevel and models that reveal it.", true},
		{deltasReset{}, "DeltasReset", "The model is called again because its answer broke off or its server failed. Discard the deltas from fromSeq up to this event.", false},
		{assistantMessage{}, "AssistantMessage", "A model call has ended. The events of the message's tool calls follow.", true},
		{toolCall{}, "ToolCall", "The server runs a tool.", true},
		{toolResult{}, "ToolOutcome", "The result of a call that the server ran or rejected.", true},
		{localToolCall{}, "LocalToolCall", "The client must run a tool and answer with its result.", true},
		{localToolResultIn{}, "LocalToolResult", "The client has answered a call.", true},
		{interactionView{}, "Interaction", "The run waits for an interaction that others than its client may answer, such as an approval.", true},
		{interactionResolved{}, "InteractionResolved", "An interaction has been answered.", true},
		{loopDetected{}, "LoopDetected", "The model repeats the same calls. They were not run, as their results say.", false},
		{toolBudgetExceeded{}, "ToolBudgetExceeded", "A call was not run because its tool's budget is exhausted. The result that says so precedes this event.", false},
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
		Name: "Event", Doc: "An event of a run. Its fields are next to `type` and again in `data`; clients may read either.",
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
		{Name: "Truncated", Doc: "The event was truncated because it exceeded 1 MiB.", Schema: openapi.Object{"const": true}},
		{Name: "Arguments", Doc: "The arguments: an object, unless the model sent something else."},
		{Name: "FinishReason", Doc: "Why the model stopped.", Schema: parse(`{"type":["string","null"],"examples":["end_turn","tool_use","max_tokens","refusal"]}`)},
		{Name: "Status", Schema: parse(`{"type":"string","enum":["queued","running","succeeded","failed","cancelled"]}`)},
		{Of: moment{}, Schema: parse(`{"type":"string","format":"date-time"}`)},
		{Of: usage{}, Name: "Usage", Doc: "The usage of the run."},
		{Of: tokens{}, Name: "Tokens", Doc: "The sum of all model calls. Input tokens include cached tokens, output tokens include reasoning tokens."},
		{Of: modelUsed{}, Name: "ModelUsed"},
		{Of: errorBody{}, Name: "Error"},
		{Of: done{}, Name: "Done"},
		{Of: modelList{}, Name: "Models"},
		{Of: warnings{}, Name: "Warnings", Doc: "Parts of the request without effect; omitted if there are none."},
		{Of: runView{}, Name: "Run"},
		{Of: sessionView{}, Name: "Session"},
		{Of: fields{}, Name: "KeptSpec", Doc: "The spec of the request, without the input and the values of headers.", Schema: openapi.Object{"allOf": []any{openapi.Ref("Spec")}}},
		{Of: pendingInteraction{}, Name: "PendingInteraction"},
		{Of: inputMessage{}, Name: "Message"},
		{Of: attachment{}, Name: "Attachment"},

		{Of: runBody{}, Name: "CreateRun", Doc: "An agent and its input.", More: parse(`{"anyOf":[{"required":["agentId"]},{"required":["systemPrompt"]},
{"required":["messages"],"properties":{"messages":{"contains":{"properties":{"role":{"const":"system"}},"required":["role"]}}}}]}`)},
		{Of: sessionBody{}, Name: "CreateSession", More: parse(`{"anyOf":[{"required":["agentId"]},{"required":["systemPrompt"]}]}`)},
		{Of: messageBody{}, Name: "SendMessage"},
		{Of: inputBody{}, Name: "Input", Doc: "Either a prompt or messages.", More: parse(`{"oneOf":[{"required":["prompt"],"properties":{"prompt":{"minLength":1},"messages":{"maxItems":0}}},
{"required":["messages"],"properties":{"messages":{"minItems":1},"prompt":{"maxLength":0}}}]}`)},
		{Of: specBody{}, Name: "Spec", Doc: "A declared agent with additions, or an agent defined by the spec. Either agentId or systemPrompt is required; for a run, a message with the role system also suffices."},
		{Of: runOptions{}, Name: "RunOptions"},
		{Of: loopBody{}, Name: "LoopThresholds"},
		{Of: toolResultBody{}, Name: "ToolResult", Doc: "Either a result or an error. Without both, the result is empty; a strict server rejects the request.", More: parse(`{"not":{"required":["result","error"]}}`)},
		{Of: resolutionBody{}, Name: "Resolution"},

		{
			Of: toolRef{}, Name: "Tool",
			Doc: "A tool of the run. The server runs `mantyx`, `mantyx_plugin`, `a2a` and `mcp`. The client runs `local`, `a2a_local` and `mcp_local`: their calls are events, which it answers.",
			Schema: oneOf("kind", map[string]string{
				kindMantyx: "MantyxTool", kindPlugin: "MantyxPluginTool", kindLocal: "LocalTool", kindA2A: "A2ATool", kindA2ALocal: "A2ALocalTool",
				kindMCP: "MCPTool", kindMCPLocal: "MCPLocalTool",
			}),
		},
		{Of: mantyxTool{}, Name: "MantyxTool", Doc: "A tool declared by the server.", More: open},
		{Of: pluginTool{}, Name: "MantyxPluginTool", Doc: "A tool of a plugin or MCP server that the server declares.", More: open},
		{Of: localTool{}, Name: "LocalTool", Doc: "A function of the client.", More: open},
		{Of: a2aTool{}, Name: "A2ATool", Doc: "A remote agent that the server calls.", More: open},
		{Of: a2aLocalTool{}, Name: "A2ALocalTool", Doc: "An agent that the client calls.", More: open},
		{Of: mcpServerTool{}, Name: "MCPTool", Doc: "An MCP server that the server connects to. Its tools are prefixed with its name, as in weather_forecast.", More: open},
		{Of: mcpLocalTool{}, Name: "MCPLocalTool", Doc: "An MCP server that the client connects to.", More: open},
		{Of: cardSkill{}, More: open},
		{Of: mcpTool{}, More: open},
		{Name: "ToolName", Schema: parse(`{"type":"string","pattern":"^[a-zA-Z0-9_]{1,64}$"}`)},
		{Name: "Address", Doc: "An http or https address without credentials. Private addresses are rejected unless the server allows them.", Schema: parse(`{"type":"string","format":"uri","pattern":"^[hH][tT][tT][pP][sS]?://"}`)},
		{Name: "Headers", Doc: "Additional headers of requests. Responses show their values as `***`.", Schema: parse(`{"type":"object","additionalProperties":{"type":"string","maxLength":8192}}`)},

		{Name: "TextPart", Schema: parse(`{"type":"object","required":["kind","text"],"properties":{"kind":{"const":"text"},"text":{"type":"string"}}}`)},
		{Name: "RPCAnswer", Schema: parse(`{"type":"object","required":["jsonrpc","id"],"properties":{"jsonrpc":{"const":"2.0"},"id":{"description":"The id of the request."},
"result":{"type":"object","required":["kind","messageId","contextId","role","parts","metadata"],"properties":{"kind":{"const":"message"},"messageId":{"type":"string"},"contextId":{"type":"string"},"role":{"const":"agent"},
"parts":{"type":"array","items":{"$ref":"#/components/schemas/TextPart"}},
"metadata":{"type":"object","required":["mantyx"],"properties":{"mantyx":{"$ref":"#/components/schemas/Usage"}}}}},
"error":{"type":"object","required":["code","message"],"properties":{"code":{"type":"integer","description":"A JSON-RPC error code, or -32000 for a failed run."},"message":{"type":"string"},
"data":{"type":"object","properties":{"code":{"type":"string","description":"A code for programs: an error code from above, the subtype or class of the run's termination, or cancelled."},"mantyx":{"$ref":"#/components/schemas/Usage"}}}}}},
"oneOf":[{"required":["result"]},{"required":["error"]}]}`)},
	}
}
