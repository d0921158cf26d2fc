package mcp

import (
	"net/http"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/openapi"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// OpenAPI describes the routes.
func (s *Surface) OpenAPI() []byte { return server.DescribeAPI(describedAPI(), s.Routes()) }

// DeferDescription does nothing: tests check the description against the routes.
func (*Surface) DeferDescription() {}

// routeIDs are the operation IDs of the routes, by pattern.
var routeIDs = map[string]string{
	"POST /mcp": "send", "GET /mcp": "listen", "DELETE /mcp": "end",
	"POST /mcp/{agent}": "sendToAgent", "GET /mcp/{agent}": "listenToAgent", "DELETE /mcp/{agent}": "endWithAgent",
	"GET " + metadataPath: "metadata", "GET " + metadataPath + "/mcp": "metadataOfAll", "GET " + metadataPath + "/mcp/{agent}": "metadataOfAgent",
}

// describedAPI describes the routes in words.
func describedAPI() *openapi.API {
	type answers = map[int]openapi.Answer
	text := openapi.Object{"type": "string"}
	message := openapi.Object{"type": "object", "description": "A JSON-RPC message of MCP.", "additionalProperties": true}
	session := openapi.Parameter{Name: sessionHeader, In: "header", Doc: "Session of the request, in versions that have sessions.", Schema: text}
	spoken := openapi.Parameter{Name: versionHeader, In: "header", Doc: "Version of the protocol.", Schema: text}
	again := openapi.Parameter{Name: "Last-Event-ID", In: "header", Doc: "Last event that the client has received.", Schema: text}
	failed := func(doc string) openapi.Answer { return openapi.Answer{Doc: doc, Body: rpcError{}} }
	invalid, unknown := failed("The request is invalid."), failed("The agent or session does not exist.")
	foreign := failed("The credential lacks the required scope, or the request comes from a page of another site.")
	events := openapi.Answer{Doc: "The messages of the session.", Body: text, Media: []string{"text/event-stream"}}
	send := func(summary string) openapi.OperationDoc {
		return openapi.OperationDoc{
			Summary: summary, Doc: "The response to a request is an event stream if it may take long, otherwise JSON.",
			Parameters: []openapi.Parameter{session, spoken}, Body: message,
			Answers: answers{
				http.StatusOK:         {Doc: "The response, or an error of the protocol.", Body: openapi.Object{}, Media: []string{"application/json", "text/event-stream"}},
				http.StatusAccepted:   {Doc: "The notification or response was received."},
				http.StatusBadRequest: invalid, http.StatusForbidden: foreign, http.StatusNotFound: unknown,
				http.StatusUnsupportedMediaType: failed("The Content-Type is not application/json, or the body is encoded."),
			},
		}
	}
	listen := func(summary string) openapi.OperationDoc {
		return openapi.OperationDoc{Summary: summary, Parameters: []openapi.Parameter{session, spoken, again}, Answers: answers{
			http.StatusOK: events, http.StatusBadRequest: invalid, http.StatusForbidden: foreign, http.StatusNotFound: unknown,
			http.StatusMethodNotAllowed: failed("The version of the protocol has no such streams."),
			http.StatusConflict:         failed("The session has such a stream already."),
		}}
	}
	end := func(summary string) openapi.OperationDoc {
		return openapi.OperationDoc{Summary: summary, Parameters: []openapi.Parameter{session, spoken}, Answers: answers{
			http.StatusNoContent: {Doc: "The session has ended."}, http.StatusBadRequest: invalid, http.StatusForbidden: foreign,
			http.StatusNotFound:         unknown,
			http.StatusMethodNotAllowed: failed("The version of the protocol has no sessions."),
		}}
	}
	metadata := func(summary string) openapi.OperationDoc {
		return openapi.OperationDoc{Summary: summary, Answers: answers{
			http.StatusOK:       {Doc: "The metadata of RFC 9728.", Body: oauthex.ProtectedResourceMetadata{}},
			http.StatusNotFound: {Doc: "The server accepts no tokens of an authorization server.", Body: text, Media: []string{"text/plain"}},
		}}
	}
	return &openapi.API{
		Title: "MCP", Doc: "The agents as tools of MCP, over streamable HTTP.",
		Operations: map[string]openapi.OperationDoc{
			"send": send("Send a message to all agents"), "sendToAgent": send("Send a message to an agent"),
			"listen": listen("Receive the messages of a session"), "listenToAgent": listen("Receive the messages of a session with an agent"),
			"end": end("End a session"), "endWithAgent": end("End a session with an agent"),
			"metadata":        metadata("Find the authorization server"),
			"metadataOfAll":   metadata("Find the authorization server of all agents"),
			"metadataOfAgent": metadata("Find the authorization server of an agent"),
		},
		Wildcards: map[string]string{"mcp/{agent}": "ID of the agent."},
		Error:     &openapi.Answer{Doc: "The request was rejected.", Body: rpcError{}},
	}
}
