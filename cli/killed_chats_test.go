package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/server/native"
	"github.com/agentruntime/agentruntime/service"
)

// chatProtocol is a chat page protocol that can resume a turn's stream.
type chatProtocol struct {
	// begin starts the turn, and follow reads its stream after the server was killed. Each is a
	// method, a path and a body.
	begin, follow string
	// end is the type of the last event.
	end string
}

var chatProtocols = map[string]chatProtocol{
	"ag-ui": {
		begin:  `POST /agui/clerk {"threadId":"t1","runId":"r1","messages":[{"id":"m1","role":"user","content":"Tell a story"}]}`,
		follow: `POST /agui/clerk {"threadId":"t1","runId":"r1","messages":[{"id":"m1","role":"user","content":"Tell a story"}]}`,
		end:    "RUN_FINISHED",
	},
	"ai sdk": {
		begin:  `POST /aisdk/clerk {"id":"c1","messages":[{"id":"m1","role":"user","parts":[{"type":"text","text":"Tell a story"}]}]}`,
		follow: `GET /aisdk/clerk/c1/stream `,
		end:    "finish",
	},
}

// chatEvent has the event fields of both protocols that the test reads.
type chatEvent struct{ Type, ID, MessageID, Delta string }

// openChat returns the stream that a request opens.
func openChat(t *testing.T, base, request string) io.Reader {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	method, rest, _ := strings.Cut(request, " ")
	path, body, _ := strings.Cut(rest, " ")
	req, err := http.NewRequestWithContext(ctx, method, base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = bearer(rightKey)
	req.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		t.Fatalf("%s: %s %s", request, resp.Status, text)
	}
	return resp.Body
}

// readChat reads events until it has the given number of deltas; 0 reads to the end.
func readChat(stream io.Reader, deltas int) (events []chatEvent) {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, isData := strings.CutPrefix(lines.Text(), "data: ")
		var e chatEvent
		if !isData || json.Unmarshal([]byte(data), &e) != nil {
			continue
		}
		events = append(events, e)
		if e.Delta != "" {
			if deltas--; deltas == 0 {
				return events
			}
		}
	}
	return events
}

// TestStreamsOfChatsSurviveTheDeathOfTheirServer kills the server in the middle of a stream. The
// resumed stream begins like the first and ends with the whole text.
func TestStreamsOfChatsSurviveTheDeathOfTheirServer(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]func(*testing.T) string{"sqlite": onSQLite, "postgres": onPostgres} {
		for protocol, p := range chatProtocols {
			t.Run(name+" "+protocol, func(t *testing.T) {
				t.Parallel()
				f := mortal(t, store(t), "")
				s := f.start("127.0.0.1:0")
				seen := readChat(openChat(t, s.url, p.begin), 3)
				s.kill()
				s = f.start(s.address)
				whole := readChat(openChat(t, s.url, p.follow), 0)
				if len(whole) < len(seen) {
					t.Fatalf("%d events after %d: %v", len(whole), len(seen), whole)
				}
				for i, e := range seen {
					if whole[i] != e {
						t.Errorf("event %d was %+v, and is %+v", i, e, whole[i])
					}
				}
				texts, last := map[string]string{}, ""
				for _, e := range whole {
					if e.Delta != "" {
						last = e.MessageID + e.ID
						texts[last] += e.Delta
					}
				}
				if texts[last] != toldStory || whole[len(whole)-1].Type != p.end {
					t.Errorf("it ends with %+v and the text %q", whole[len(whole)-1], texts[last])
				}
				reader, err := native.NewClient(native.ClientSettings{URL: s.url, Key: rightKey})
				if err != nil {
					t.Fatal(err)
				}
				defer reader.Close()
				turns, err := reader.ListTurns(t.Context(), native.TurnQuery{})
				if err != nil || len(turns.Turns) != 1 || turns.Turns[0].Status != service.Succeeded || turns.Turns[0].Outcome.Response != toldStory {
					t.Errorf("the turns are %+v, %v", turns, err)
				}
			})
		}
	}
}
