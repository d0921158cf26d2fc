package a2aserver_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

func TestEveryRequestOverGRPCHasALine(t *testing.T) {
	core, logged := observer.New(zap.InfoLevel)
	w := open(t, func(s *setup) { s.settings.Logger = zap.New(core) })
	for _, who := range []string{"alice", "mallory-s3cret"} {
		c := w.client(who, "clerk", a2a.TransportProtocolGRPC)
		_, _ = c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "none"}) // what it says is others' to test
		_, _ = events(c.SendStreamingMessage(t.Context(), request(user("hello"))))
	}
	const service = "/lf.a2a.v1.A2AService/"
	want := []string{
		service + "GetTask NotFound 127.0.0.1 alice <nil>", service + "SendStreamingMessage OK 127.0.0.1 alice <nil>",
		service + "GetTask Unauthenticated 127.0.0.1 <nil> who is that?", service + "SendStreamingMessage Unauthenticated 127.0.0.1 <nil> who is that?",
	}
	eventually(t, func() bool { return logged.FilterMessage("request").Len() >= len(want) })
	for i, line := range logged.FilterMessage("request").All() {
		has := line.ContextMap()
		if got := fmt.Sprint(has["method"], " ", has["code"], " ", has["client"], " ", has["key_id"], " ", has["problem"]); i >= len(want) || got != want[i] || has["duration"] == nil {
			t.Errorf("line %d is %s", i, got)
		}
	}
	for _, line := range logged.All() {
		if strings.Contains(fmt.Sprint(line.Message, line.ContextMap()), "s3cret") {
			t.Errorf("the credential is in the line %v", line)
		}
	}
}
