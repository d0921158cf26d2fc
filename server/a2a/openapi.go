package a2a

import (
	"maps"
	"net/http"
	"strings"
	"sync"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/openapi"
)

var _ server.DeferredDescriber = (*Server)(nil)

// OpenAPI describes the routes.
func (s *Server) OpenAPI() []byte {
	if s.settings.V03 {
		return fullDescription()
	}
	return latestDescription()
}

// DeferDescription does nothing: tests check the description against the routes.
func (*Server) DeferDescription() {}

// latestDescription describes version 1.0, and fullDescription also version 0.3.
var (
	latestDescription = sync.OnceValue(func() []byte { return describeVersions(v10) })
	fullDescription   = sync.OnceValue(func() []byte { return describeVersions(v10, v03) })
)

// describedOperation is an operation of the surface.
type describedOperation struct {
	pattern, id string
	doc         openapi.OperationDoc
}

type (
	answers    = map[int]openapi.Answer
	parameters = []openapi.Parameter
)

func describeVersions(spoken ...version) []byte {
	operations := describeCards()
	for _, v := range spoken {
		operations = append(operations, describeCalls(v))
		operations = append(operations, describeRequests(v)...)
	}
	api := &openapi.API{
		Title: "A2A",
		Doc: "Serves agents as [A2A](https://a2a-protocol.org/latest/specification/) peers over JSON-RPC and HTTP+JSON. The specification describes the objects of the protocol; this document contains only a minimum of their fields. A task is a turn, and a context is a session.\n\n" +
			"The header `A2A-Version` or the query parameter of that name sets the protocol version of a request. The default is version 0.3, which must be enabled in the configuration. Paths below `/v0.3` always use version 0.3. " +
			"The header `A2A-Extensions` of a request lists extensions; in the response it lists those that are active.",
		Operations: map[string]openapi.OperationDoc{},
		Components: []openapi.Component{
			{Of: agentCard{}, Name: "Card", Doc: "An AgentCard."}, {Of: task{}, Name: "Task"}, {Of: streamResponse{}, Name: "StreamResponse"},
			{Of: sendMessage{}, Name: "SendMessage"}, {Of: rpcRequest{}, Name: "Call"}, {Of: rpcResponse{}, Name: "CallAnswer"},
			{Of: rpcFailure{}, Name: "CallError"}, {Of: rpcError{}, Name: "RPCError"}, {Of: restFailure{}, Name: "Error"},
		},
		Wildcards: map[string]string{
			"{agent}": "ID of an agent on this server.", "tasks/{id}": "ID of a task.", "{configId}": "ID of a push notification configuration.",
		},
		Error: &rejected,
	}
	list := make([]openapi.Operation, len(operations))
	for i, op := range operations {
		list[i].Pattern, list[i].ID = op.pattern, op.id
		api.Operations[op.id] = op.doc
	}
	return api.Generate(list)
}

// The minimum of the protocol's objects that the description contains.
type (
	agentCard struct {
		_ struct{} `additionalProperties:"true"`

		Name         string           `json:"name"`
		Description  string           `json:"description"`
		Version      string           `json:"version"`
		Capabilities map[string]any   `json:"capabilities"`
		Skills       []map[string]any `json:"skills"`
	}
	task struct {
		_ struct{} `additionalProperties:"true"`

		ID        string `json:"id"`
		ContextID string `json:"contextId"`
		Status    struct {
			_ struct{} `additionalProperties:"true"`

			State string `json:"state" examples:"['TASK_STATE_WORKING','TASK_STATE_INPUT_REQUIRED','TASK_STATE_COMPLETED','TASK_STATE_FAILED','TASK_STATE_CANCELED']"`
		} `json:"status"`
	}
	taskList struct {
		Tasks         []task `json:"tasks"`
		TotalSize     int    `json:"totalSize"`
		PageSize      int    `json:"pageSize"`
		NextPageToken string `json:"nextPageToken" jsonschema:"Token of the next page. Empty on the last page."`
	}
	sendMessage struct {
		_ struct{} `additionalProperties:"true"`

		Message       map[string]any `json:"message" jsonschema:"A Message."`
		Configuration map[string]any `json:"configuration,omitempty"`
		Metadata      map[string]any `json:"metadata,omitempty"`
	}
	sendMessageResponse struct {
		_ struct{} `jsonschema:"A SendMessageResponse." minProperties:"1" maxProperties:"1"`

		Task    *task          `json:"task,omitempty"`
		Message map[string]any `json:"message,omitempty"`
	}
	streamResponse struct {
		_ struct{} `minProperties:"1" maxProperties:"1"`

		Task           *task          `json:"task,omitempty"`
		Message        map[string]any `json:"message,omitempty"`
		StatusUpdate   map[string]any `json:"statusUpdate,omitempty"`
		ArtifactUpdate map[string]any `json:"artifactUpdate,omitempty"`
		Error          map[string]any `json:"error,omitempty" jsonschema:"Error that ended the stream early."`
	}
	rpcRequest struct {
		JSONRPC string         `json:"jsonrpc" const:"'2.0'"`
		ID      any            `json:"id,omitempty" type:"['string','number','null']"`
		Method  string         `json:"method" examples:"['SendMessage','message/send']"`
		Params  map[string]any `json:"params,omitempty"`
	}
	rpcResponse struct {
		_ struct{} `oneOf:"[{'required':['result']},{'required':['error']}]"`

		JSONRPC string    `json:"jsonrpc" const:"'2.0'"`
		ID      any       `json:"id,omitempty" type:"['string','number','null']"`
		Result  any       `json:"result,omitempty" jsonschema:"Result of the method, as the protocol defines it."`
		Error   *rpcError `json:"error,omitempty"`
	}
)

// anyObject describes an object that only the specification of the protocol describes.
var anyObject = openapi.Object{"type": "object"}

var rejected = openapi.Answer{Doc: "The request was rejected. The body is a google.rpc.Status.", Body: restFailure{}}

func textParameter(name, in, doc string) openapi.Parameter {
	return openapi.Parameter{Name: name, In: in, Doc: doc, Schema: openapi.Object{"type": "string"}}
}

// describeCards describes the public routes.
func describeCards() []describedOperation {
	headers := openapi.Headers{
		"ETag":          {Doc: "Entity tag, which changes with the body."},
		"Cache-Control": {Doc: "How long the body may be cached.", Schema: openapi.Object{"type": "string", "pattern": "^public, max-age=[0-9]+$"}},
	}
	known := parameters{textParameter("If-None-Match", "header", "ETag of the client's copy.")}
	same := openapi.Answer{Doc: "The client's copy is current."}
	card := answers{
		http.StatusOK:          {Doc: "The card. It is signed if the server has a signing key.", Body: agentCard{}, Headers: headers},
		http.StatusNotModified: same, http.StatusNotFound: rejected,
	}
	list := answers{
		http.StatusOK: {Doc: "The cards. Each is identical to the one served separately.", Headers: headers, Body: struct {
			Agents []agentCard `json:"agents"`
		}{}},
		http.StatusNotModified: same,
	}
	return []describedOperation{
		{"GET /.well-known/agent-card.json", "readDefaultCard", openapi.OperationDoc{Summary: "Read the card of the default agent", Parameters: known, Answers: card}},
		{"GET /.well-known/agents.json", "listCards", openapi.OperationDoc{Summary: "List the cards of all agents", Parameters: known, Answers: list}},
		{"GET /a2a/{agent}/.well-known/agent-card.json", "readCard", openapi.OperationDoc{Summary: "Read the card of an agent", Parameters: known, Answers: card}},
	}
}

// commonParameters returns the parameters of all requests in a version of the protocol.
func commonParameters(v version) parameters {
	list := parameters{textParameter("A2A-Extensions", "header", "Comma-separated URIs of extensions.")}
	if v == v10 {
		list = append(list, openapi.Parameter{
			Name: "A2A-Version", In: "header", Doc: "Version of the protocol. The patch level is ignored.",
			Schema: openapi.Object{"type": "string", "examples": []string{"1.0"}},
		}, textParameter("A2A-Version", "query", "Version of the protocol, for clients that cannot set the header."))
	}
	return list
}

// describeCalls describes the route of JSON-RPC in a version of the protocol.
func describeCalls(v version) describedOperation {
	failed := func(doc string, headers openapi.Headers) openapi.Answer {
		return openapi.Answer{Doc: doc, Body: rpcFailure{}, Headers: headers}
	}
	refused := failed("The call was not executed.", nil)
	op := describedOperation{"POST /a2a/{agent}", "call", openapi.OperationDoc{
		Summary: "Call a JSON-RPC method of version 1.0",
		Doc: "The methods are SendMessage, SendStreamingMessage, GetTask, ListTasks, CancelTask, SubscribeToTask, CreateTaskPushNotificationConfig, GetTaskPushNotificationConfig, " +
			"ListTaskPushNotificationConfigs, DeleteTaskPushNotificationConfig and GetExtendedAgentCard.",
		Parameters: commonParameters(v10), Body: rpcRequest{},
		Examples: openapi.Examples{"send": {
			JSON: `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"Where is order 17?"}]}}}`,
		}},
		Answers: answers{
			http.StatusOK: {
				Doc:  "The result or error of the call. Methods that follow a task return a stream of them.",
				Body: rpcResponse{}, Media: []string{"application/json", "text/event-stream"},
			},
			http.StatusBadRequest: refused, http.StatusForbidden: refused, http.StatusRequestEntityTooLarge: refused, http.StatusUnsupportedMediaType: refused,
			http.StatusInternalServerError: refused, http.StatusServiceUnavailable: refused,
			http.StatusUnauthorized:    failed("The credential is missing or invalid.", openapi.Headers{"WWW-Authenticate": {Doc: "Required kind of credential."}}),
			http.StatusTooManyRequests: failed("The credential has exceeded its request limit.", openapi.Headers{"Retry-After": {Doc: "Number of seconds to wait before retrying."}}),
		},
	}}
	if v == v03 {
		op.pattern, op.id, op.doc.Summary = op.pattern+"/v0.3", "call03", "Call a JSON-RPC method of version 0.3"
		op.doc.Doc = "The methods are message/send, message/stream, tasks/get, tasks/list, tasks/cancel, tasks/resubscribe, tasks/pushNotificationConfig/{set,get,list,delete} and agent/getAuthenticatedExtendedCard."
	}
	return op
}

// describeRequests describes the routes of HTTP+JSON in a version of the protocol.
func describeRequests(v version) []describedOperation {
	at, card := "/a2a/{agent}", "/extendedAgentCard"
	sent := openapi.Answer{Doc: "The task, once it has ended, requires input or has exceeded the maximum wait time.", Body: sendMessageResponse{}}
	events := openapi.Answer{Doc: "The events of the task, each a StreamResponse, until the task ends or requires input.", Body: streamResponse{}, Media: []string{"text/event-stream"}}
	followed := openapi.Answer{Doc: "The task and then its events, each a StreamResponse, until the task ends.", Body: streamResponse{}, Media: []string{"text/event-stream"}}
	listed := openapi.Answer{Doc: "The tasks of the caller, most recent first.", Body: taskList{}}
	object := openapi.Answer{Doc: "The object that the protocol defines.", Body: anyObject}
	paging := parameters{
		{Name: "pageSize", In: "query", Doc: "Maximum number of elements of the page.", Schema: openapi.Object{"type": "integer"}},
		textParameter("pageToken", "query", "The nextPageToken of the previous page."),
	}
	deleted, ofConfigs := answers{http.StatusOK: object}, paging
	if v == v03 {
		at, card = at+"/v0.3/v1", "/card"
		sent = openapi.Answer{Doc: "The task, in the format of version 0.3.", Body: anyObject}
		events.Doc, events.Body = "The events of the task, in the format of version 0.3, until the task ends or requires input.", anyObject
		followed.Doc, followed.Body = "The task and then its events, in the format of version 0.3, until the task ends.", anyObject
		listed = openapi.Answer{Doc: "The tasks of the caller, in the format of version 0.3.", Body: anyObject}
		deleted, ofConfigs = answers{http.StatusNoContent: {Doc: "The push notification configuration no longer exists."}}, nil
	}
	read := openapi.Answer{Doc: "The task.", Body: task{}}
	config := openapi.Answer{Doc: "The push notification configuration, without its secrets.", Body: anyObject}
	history := parameters{{Name: "historyLength", In: "query", Doc: "Maximum number of messages in the history of a task.", Schema: openapi.Object{"type": "integer"}}}
	moment := openapi.Object{"type": "string", "format": "date-time"}
	filters := append(parameters{
		textParameter("contextId", "query", "Context of the tasks to return."), textParameter("status", "query", "State of the tasks to return."),
		{Name: "statusTimestampAfter", In: "query", Doc: "Omits tasks whose status is older.", Schema: moment},
		{Name: "lastUpdatedAfter", In: "query", Doc: "Alias of statusTimestampAfter, which some clients use.", Schema: moment},
		{Name: "includeArtifacts", In: "query", Doc: "Whether the tasks include their artifacts.", Schema: openapi.Object{"type": "boolean"}},
	}, append(paging, history...)...)

	const ofTask, configs = "/tasks/{id}", "/tasks/{id}/pushNotificationConfigs"
	list := []describedOperation{
		{"POST /message:send", "sendMessage", openapi.OperationDoc{Summary: "Send a message to an agent", Body: sendMessage{}, Answers: answers{http.StatusOK: sent}}},
		{"POST /message:stream", "streamMessage", openapi.OperationDoc{Summary: "Send a message to an agent and follow its task", Body: sendMessage{}, Answers: answers{http.StatusOK: events}}},
		{"GET /tasks", "listTasks", openapi.OperationDoc{Summary: "List tasks", Parameters: filters, Answers: answers{http.StatusOK: listed}}},
		{"GET " + ofTask, "readTask", openapi.OperationDoc{Summary: "Read a task", Parameters: history, Answers: answers{http.StatusOK: read}}},
		{"POST " + ofTask + ":cancel", "cancelTask", openapi.OperationDoc{Summary: "Cancel a task", Body: anyObject, Optional: true, Answers: answers{http.StatusOK: read}}},
		{"GET " + ofTask + ":subscribe", "followTask", openapi.OperationDoc{Summary: "Follow a task", Answers: answers{http.StatusOK: followed}}},
		{"POST " + ofTask + ":subscribe", "subscribeToTask", openapi.OperationDoc{Summary: "Follow a task with POST, as some clients do", Body: anyObject, Optional: true, Answers: answers{http.StatusOK: followed}}},
		{"GET " + configs, "listPushConfigs", openapi.OperationDoc{Summary: "List the push notification configurations of a task", Parameters: ofConfigs, Answers: answers{http.StatusOK: object}}},
		{"POST " + configs, "createPushConfig", openapi.OperationDoc{Summary: "Create a push notification configuration", Body: anyObject, Answers: answers{http.StatusOK: config}}},
		{"GET " + configs + "/{configId}", "readPushConfig", openapi.OperationDoc{Summary: "Read a push notification configuration", Answers: answers{http.StatusOK: config}}},
		{"DELETE " + configs + "/{configId}", "deletePushConfig", openapi.OperationDoc{Summary: "Delete a push notification configuration", Answers: deleted}},
		{"GET " + card, "readExtendedCard", openapi.OperationDoc{Summary: "Read the extended card of an agent", Answers: answers{
			http.StatusOK: {Doc: "The card as the caller may see it, with the delegates and limits of the agent.", Body: agentCard{}},
		}}},
	}
	for i := range list {
		list[i].complete(v, at)
	}
	return list
}

// complete adds what the operations of HTTP+JSON have in common.
func (op *describedOperation) complete(v version, at string) {
	method, path, _ := strings.Cut(op.pattern, " ")
	op.pattern = method + " " + at + path
	op.doc.Parameters = append(commonParameters(v), op.doc.Parameters...)
	op.doc.Answers = maps.Clone(op.doc.Answers)
	op.doc.Answers[http.StatusBadRequest], op.doc.Answers[http.StatusNotFound] = rejected, rejected
	if op.doc.Body != nil {
		op.doc.Media = []string{"application/json", "application/a2a+json"}
		op.doc.Answers[http.StatusUnsupportedMediaType] = rejected
	}
	if _, isMessage := op.doc.Body.(sendMessage); isMessage {
		op.doc.Examples = openapi.Examples{"send": {JSON: `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"Where is order 17?"}]}}`}}
	}
	if v == v03 {
		op.id, op.doc.Summary = op.id+"03", op.doc.Summary+" (version 0.3)"
	}
}
