package storetest

import (
	"errors"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

var modelRequestTests = []test{
	{name: "ModelRequestsAreReadInTheOrderOfTheirCalls", run: modelRequestsAreReadInOrder},
	{name: "AModelRequestNeedsATurn", run: aModelRequestNeedsATurn},
	{name: "ModelRequestsAreDeletedWithTheEvents", run: modelRequestsAreDeletedWithTheEvents},
}

// saveModelRequest stores a request for a message of a turn.
func saveModelRequest(f *fixture, turn, message string, call int, request string) *store.ModelRequest {
	f.Helper()
	r := &store.ModelRequest{TurnID: turn, MessageID: message, Call: call, AgentID: "clerk", SentAt: f.now, Request: []byte(request)}
	wantOK(f, f.SaveModelRequest(f.Context(), r))
	return r
}

func modelRequests(f *fixture, turn, message string) []*store.ModelRequest {
	f.Helper()
	return try(f.ModelRequests(f.Context(), turn, message)).wantOK(f)
}

func modelRequestsAreReadInOrder(f *fixture) {
	f.createQueued("s", "t", "u")
	second, first := saveModelRequest(f, "t", "m1", 2, `{"n":2}`), saveModelRequest(f, "t", "m1", 1, `{"n":1}`)
	other := saveModelRequest(f, "t", "m2", 3, `{}`)
	saveModelRequest(f, "u", "m1", 1, `{"turn":"u"}`)
	wantEqual(f, "the requests", modelRequests(f, "t", "m1"), []*store.ModelRequest{first, second})
	wantEqual(f, "the requests of another message", modelRequests(f, "t", "m2"), []*store.ModelRequest{other})
	wantEqual(f, "the requests of an unknown message", modelRequests(f, "t", "m3"), nil)
	again := saveModelRequest(f, "t", "m1", 1, `{"again":true}`)
	wantEqual(f, "the requests", modelRequests(f, "t", "m1"), []*store.ModelRequest{again, second})
}

func aModelRequestNeedsATurn(f *fixture) {
	wantError(f, f.SaveModelRequest(f.Context(), &store.ModelRequest{TurnID: "nowhere", MessageID: "m", Call: 1, SentAt: f.now, Request: []byte("{}")}), store.ErrNotFound)
	for _, text := range []string{"a\x00b", "a\xffb"} {
		if err := f.SaveModelRequest(f.Context(), &store.ModelRequest{TurnID: "t", MessageID: text, Call: 1, SentAt: f.now}); !errors.Is(err, store.ErrText) {
			f.Errorf("the error of %q is %v", text, err)
		}
	}
}

func modelRequestsAreDeletedWithTheEvents(f *fixture) {
	createRated(f, "s", "t")
	createRated(f, "gone", "u")
	saveModelRequest(f, "t", "m", 1, "{}")
	saveModelRequest(f, "u", "m", 1, "{}")
	wantOK(f, f.DeleteSession(f.Context(), store.Everything, "gone"))
	wantEqual(f, "the requests of a deleted session", modelRequests(f, "u", "m"), nil)
	pruneStore(f, store.Retention{Now: f.now.Add(time.Hour), Events: time.Minute})
	wantEqual(f, "the requests of a turn without events", modelRequests(f, "t", "m"), nil)
}
