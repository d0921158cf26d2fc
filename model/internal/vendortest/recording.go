package vendortest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/google/go-cmp/cmp"
)

func (v *Vendor) requestOf(r *Recording) *model.Request {
	if r.Request == nil {
		return v.helloRequest()
	}
	return r.Request()
}

// eachRecording runs a test for every recording in parallel.
func (v *Vendor) eachRecording(t *testing.T, test func(t *testing.T, r *Recording, stream []byte)) {
	for i := range v.Recordings {
		r := &v.Recordings[i]
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			test(t, r, v.Recorded(t, r.Name))
		})
	}
}

// testRecordings serves each recording over loopback and checks the answer.
func (v *Vendor) testRecordings(t *testing.T) {
	v.eachRecording(t, func(t *testing.T, r *Recording, stream []byte) { r.checkAnswer(t, v, v.Serve(t, Answer(stream))) })
}

// EventStream returns a stream of server-sent events with the given data.
func EventStream(data ...string) (stream string) {
	for _, d := range data {
		stream += "data: " + d + "\n\n"
	}
	return stream
}

// CheckStreams checks recordings whose streams are given as text.
func (v *Vendor) CheckStreams(t *testing.T, list []Recording) {
	for i := range list {
		r := &list[i]
		t.Run(r.Name, func(t *testing.T) {
			stream := []byte(r.Stream)
			if v.Encode != nil {
				stream = bytes.Join(v.encodeEvents(splitEvents(stream)), nil)
			}
			r.checkAnswer(t, v, v.Replay(t, bytes.NewReader(stream)))
		})
	}
}

// CheckWrapped checks that an answer with the text hi is read if a gateway puts its events into a field of
// another object.
func (v *Vendor) CheckWrapped(t *testing.T, events ...string) {
	says := func(name, format string) Recording {
		wrapped := make([]string, 0, len(events))
		for _, ev := range events {
			wrapped = append(wrapped, fmt.Sprintf(format, ev))
		}
		return Recording{Name: name, Stream: EventStream(wrapped...), Reason: model.FinishStop, Parts: []model.Part{model.Text("hi")}}
	}
	v.CheckStreams(t, []Recording{
		says("events in response", `{"response":%s,"traceId":"a1"}`),
		says("events in result", `{"success":true,"errors":[],"result":%s}`),
		says("events in data", `{"code":"0","message":"success","errorCode":"0","data":%s}`),
		says("events in payload", `{"type":"chunk","payload":%s}`),
		says("events in chunk", `{"chunk":%s}`),
		says("events in body", `{"statusCode":200,"body":%s}`),
		says("events in a list", `{"data":[%s]}`),
		says("events in two objects", `{"result":{"data":%s}}`),
		{Name: "an error in data", Stream: EventStream(`{"code":429,"message":"slow down","data":{}}`), Class: model.RateLimited, Message: "slow down"},
		{Name: "an unknown event in data", Stream: EventStream(`{"data":{"queue":3}}`), Class: model.StreamInterrupted, Message: `the server sent "{\"queue\":3}"`},
	})
}

// checkAnswer requests an answer and compares it with the recording.
func (r *Recording) checkAnswer(t *testing.T, v *Vendor, e model.Executor) {
	t.Helper()
	events, failure := Ask(t, e, v.requestOf(r))
	got := Assemble(t, events).Message()
	maskIDs(t, r.Parts, got.Parts)
	if diff := diffMessages(model.Message{Role: model.RoleAssistant, Parts: r.Parts}, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	r.checkEnd(t, events, failure)
	for _, ev := range events {
		if r.Hidden != "" && strings.Contains(fmt.Sprint(ev), r.Hidden) {
			t.Errorf("an event shows %s: %+v", r.Hidden, ev)
		}
	}
}

// maskIDs masks generated ids that the test does not name, after checking that they are valid for a
// vendor and unique.
func maskIDs(t *testing.T, want, got []model.Part) {
	t.Helper()
	seen := map[string]bool{}
	for i := range got {
		c := got[i].ToolCall
		if c == nil || i >= len(want) || want[i].ToolCall == nil {
			continue
		}
		if seen[c.ID] || c.ID == "" || len(c.ID) > 40 {
			t.Errorf("the id %q of call %d is not fit to be one", c.ID, i)
		}
		seen[c.ID] = true
		if strings.HasSuffix(want[i].ToolCall.ID, "?") && strings.HasPrefix(c.ID, "call_") {
			c.ID = want[i].ToolCall.ID
		}
	}
}

// checkEnd checks that the answer ended once, as expected.
func (r *Recording) checkEnd(t *testing.T, events []model.Event, failure *model.Error) {
	t.Helper()
	finishes := 0
	for _, ev := range events {
		if ev.Type == model.EventFinish {
			finishes++
		}
	}
	if r.Class != "" {
		if failure == nil || failure.Class != r.Class || !strings.Contains(failure.Message, r.Message) || finishes != 0 {
			t.Errorf("the stream ends with %v and %d finishes, want an error of class %s that says %q", failure, finishes, r.Class, r.Message)
		}
		return
	}
	if failure != nil || finishes != 1 {
		t.Fatalf("the stream ends with %v and %d finishes", failure, finishes)
	}
	last := events[len(events)-1]
	if last.Reason != r.Reason {
		t.Errorf("the reason is %s, want %s", last.Reason, r.Reason)
	}
	if diff := cmp.Diff(r.Usage, last.Usage); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
}

// newReplayer returns a function that replays a stream as the response and returns the result.
func (v *Vendor) newReplayer(t testing.TB, req *model.Request) func(io.Reader) ([]model.Event, *model.Error) {
	var next io.Reader
	e := v.Offline(t, func(r *http.Request) (*http.Response, error) { return StreamResponse(r, next), nil })
	return func(stream io.Reader) ([]model.Event, *model.Error) {
		next = stream
		return Ask(t, e, req)
	}
}

// testSplitAnywhere replays every recording cut in two at every byte, or every
// cutStep bytes.
func (v *Vendor) testSplitAnywhere(t *testing.T) {
	v.eachRecording(t, func(t *testing.T, r *Recording, stream []byte) {
		replay := v.newReplayer(t, v.requestOf(r))
		want, wantFailure := replay(bytes.NewReader(stream))
		for at := 0; at <= len(stream); at += cutStep {
			got, failure := replay(io.MultiReader(bytes.NewReader(stream[:at]), bytes.NewReader(stream[at:])))
			if fmt.Sprint(failure) != fmt.Sprint(wantFailure) {
				t.Fatalf("cut at %d: the failure is %v, want %v", at, failure, wantFailure)
			}
			if !slices.EqualFunc(want, got, sameEvent) {
				t.Fatalf("cut at %d: events (-want +got):\n%s", at, cmp.Diff(want, got))
			}
		}
	})
}

func sameEvent(a, b model.Event) bool {
	if (a.Usage == nil) != (b.Usage == nil) || a.Usage != nil && *a.Usage != *b.Usage {
		return false
	}
	a.Usage, b.Usage = nil, nil
	return a == b
}

// testTruncatedAnywhere truncates every recording at every byte, or every cutStep bytes, by an end
// and by a connection error: the answer is complete, or it was interrupted.
func (v *Vendor) testTruncatedAnywhere(t *testing.T) {
	v.eachRecording(t, func(t *testing.T, r *Recording, stream []byte) {
		if r.EndsAnywhere {
			t.Skip("every part of it is an answer")
		}
		replay := v.newReplayer(t, v.requestOf(r))
		events, _ := replay(bytes.NewReader(stream))
		whole := Assemble(t, events)
		for at := 0; at < len(stream); at += cutStep {
			for _, broken := range []io.Reader{bytes.NewReader(stream[:at]), io.MultiReader(bytes.NewReader(stream[:at]), failing{})} {
				events, failure := replay(broken)
				switch {
				case r.Class != "":
				case failure != nil && failure.Class != model.StreamInterrupted:
					t.Fatalf("cut at %d: the error is %v", at, failure)
				case failure == nil:
					part := Assemble(t, events)
					if part.Reason != whole.Reason || diffMessages(whole.Message(), part.Message()) != "" {
						t.Fatalf("cut at %d: a partial answer counts as finished", at)
					}
				}
			}
		}
	})
}

// failing is a reader that fails like a connection.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }
