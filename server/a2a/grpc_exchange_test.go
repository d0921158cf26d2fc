package a2a_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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

// A request that its client ends, or gives no more time, is neither one that went
// well nor one that failed here.
func TestAGRPCRequestThatItsClientEndsHasTheStatusOfThat(t *testing.T) {
	core, logged := observer.New(zap.InfoLevel)
	w := open(t, func(s *setup) { s.settings.Logger = zap.New(core) })
	w.model.teach("slow", reply{chunks: []string{"never", ""}, hold: make(chan struct{})})
	c := w.client("alice", "clerk", a2a.TransportProtocolGRPC)
	waiting := func(ctx context.Context) error {
		_, err := c.SendMessage(ctx, request(user("slow")))
		return err
	}
	streaming := func(ctx context.Context) error {
		_, err := events(c.SendStreamingMessage(ctx, request(user("slow"))))
		return err
	}
	lines := 0
	for _, tt := range []struct {
		name string
		call func(ctx context.Context) error
		end  func(ctx context.Context) (context.Context, context.CancelFunc)
		want error
		// codes are what the server may see: of a deadline, that it passed, or that
		// the client, for which it passed first, ended the request.
		codes []string
	}{
		{"SendMessage", waiting, endSoon, context.Canceled, []string{"Canceled"}},
		{"SendMessage", waiting, shortTime, context.DeadlineExceeded, []string{"DeadlineExceeded", "Canceled"}},
		{"SendStreamingMessage", streaming, endSoon, context.Canceled, []string{"Canceled"}},
		{"SendStreamingMessage", streaming, shortTime, context.DeadlineExceeded, []string{"DeadlineExceeded", "Canceled"}},
	} {
		ctx, cancel := tt.end(t.Context())
		err := tt.call(ctx)
		cancel()
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: the client gets %v, not %v", tt.name, err, tt.want)
		}
		lines++
		eventually(t, func() bool { return logged.FilterMessage("request").Len() >= lines })
		line := logged.FilterMessage("request").All()[lines-1].ContextMap()
		if line["method"] != "/lf.a2a.v1.A2AService/"+tt.name || !slices.Contains(tt.codes, fmt.Sprint(line["code"])) {
			t.Errorf("%s, %v: the line is %v", tt.name, tt.want, line)
		}
	}
}

// endSoon returns a context that is canceled when the request has begun.
func endSoon(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	time.AfterFunc(requestTime, cancel)
	return ctx, cancel
}

// shortTime returns a context that ends by its deadline.
func shortTime(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, requestTime)
}

// requestTime is how long a client waits for an answer that does not come.
const requestTime = 300 * time.Millisecond
