package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// sessionsClient is a client of sessions and turns that implements only the protocol.
type sessionsClient struct {
	t    *testing.T
	base string
}

// send sends a request and returns the response, or nil without a response.
func (c *sessionsClient) send(method, path, body, lastEvent string) *http.Response {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	c.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, method, c.base+"/api/v1/agent"+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header = bearer(rightKey)
	if lastEvent != "" {
		req.Header.Set("Last-Event-ID", lastEvent)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil
	}
	return resp
}

// ask sends a request, requires it to succeed, and decodes the answer.
func (c *sessionsClient) ask(method, path, body string, into any) {
	c.t.Helper()
	resp := c.send(method, path, body, "")
	if resp == nil {
		c.t.Fatalf("%s %s: nobody answers", method, path)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= http.StatusMultipleChoices {
		c.t.Fatalf("%s %s: %s %s %v", method, path, resp.Status, data, err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		c.t.Fatal(err)
	}
}

// begin creates a turn with a text in its own session.
func (c *sessionsClient) begin(text, key string) (turnID string) {
	c.t.Helper()
	var session, turn struct{ ID string }
	c.ask("POST", "/sessions", fmt.Sprintf(`{"idempotencyKey":%q}`, key), &session)
	body := fmt.Sprintf(`{"messages":[{"role":"user","text":%q}],"toolRefs":[{"plugin":"*"}],"idempotencyKey":%q}`, text, key)
	c.ask("POST", "/sessions/"+session.ID+"/turns", body, &turn)
	return turn.ID
}

// turnEvent is an event of a stream.
type turnEvent struct {
	Seq  uint64
	Type string
	Data struct {
		Text    string
		FromSeq uint64 `json:"from_seq"`
	}
}

// follower is a client that follows a turn and resumes its stream after a disconnect.
type follower struct {
	*sessionsClient
	turnID string
	events []turnEvent
}

// read reads events until a type has occurred the given number of times, or the stream ends.
func (f *follower) read(until string, times int) {
	f.t.Helper()
	last := ""
	if n := len(f.events); n > 0 {
		last = fmt.Sprint(f.events[n-1].Seq)
	}
	resp := f.send("GET", "/turns/"+f.turnID+"/events/stream", "", last)
	if resp == nil {
		return
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	id := ""
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			id = text
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e turnEvent
		if err := json.Unmarshal([]byte(data), &e); err != nil || id != fmt.Sprint(e.Seq) {
			f.t.Fatalf("the frame with the id %q is %s: %v", id, data, err)
		}
		if n := len(f.events); n > 0 && e.Seq <= f.events[n-1].Seq {
			f.t.Errorf("event %d comes after %d", e.Seq, f.events[n-1].Seq)
		}
		if f.events = append(f.events, e); e.Type == until {
			if times--; times == 0 {
				return
			}
		}
	}
}

// finish follows the turn to its end, despite server failures.
func (f *follower) finish() {
	f.t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for range 500 {
		f.read("", 0)
		if n := len(f.events); n > 0 && strings.HasPrefix(f.events[n-1].Type, "turn.") && f.events[n-1].Type != "turn.started" && f.events[n-1].Type != "turn.resumed" {
			return
		}
		<-again.C
	}
	f.t.Fatalf("turn %s does not end: %v", f.turnID, f.events)
}

// answer returns the text of the valid deltas.
func (f *follower) answer() string {
	type delta struct {
		seq  uint64
		text string
	}
	var said []delta
	for _, e := range f.events {
		switch e.Type {
		case "assistant.delta":
			said = append(said, delta{e.Seq, e.Data.Text})
		case "assistant.reset":
			said = slices.DeleteFunc(said, func(d delta) bool { return d.seq >= e.Data.FromSeq })
		}
	}
	var text strings.Builder
	for _, d := range said {
		text.WriteString(d.text)
	}
	return text.String()
}

// compare compares the client's events with a new client's view of the whole turn. The client may
// have seen additional deltas, which the log keeps only until the message that contains them.
func (f *follower) compare() {
	f.t.Helper()
	whole := &follower{sessionsClient: f.sessionsClient, turnID: f.turnID}
	whole.finish()
	var seen []turnEvent
	for _, e := range f.events {
		if e.Type != "assistant.delta" && e.Type != "assistant.reset" || slices.ContainsFunc(whole.events, func(kept turnEvent) bool { return kept.Seq == e.Seq }) {
			seen = append(seen, e)
		}
	}
	if !slices.Equal(seen, whole.events) {
		f.t.Errorf("turn %s: the client saw\n%v\nbut the whole is\n%v", f.turnID, seen, whole.events)
	}
}

func TestTurnsOfSessionsSurviveTheDeathOfTheirServer(t *testing.T) {
	t.Parallel()
	const story = "once upon a time there was a server that was killed in the middle of a word and yet told all of it to the end"
	for name, store := range map[string]func(*testing.T) string{"sqlite": onSQLite, "postgres": onPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := mortal(t, store(t), "  sessions: {providers: {desk: {agent: clerk}}}\n")
			s := f.start("127.0.0.1:0")
			c := &sessionsClient{t: t, base: s.url}
			told := &follower{sessionsClient: c, turnID: c.begin("Tell a story", "k1")}
			told.read("assistant.delta", 3)
			s.kill()
			told.read("", 0) // nobody answers
			f.start(s.address)
			if again := c.begin("Tell a story", "k1"); again != told.turnID {
				t.Errorf("the same request makes turn %s beside %s", again, told.turnID)
			}
			told.finish()
			if got := told.answer(); got != story {
				t.Errorf("the deltas are %q", got)
			}
			told.compare()
			if counted, err := os.ReadFile(f.counted); err == nil { // the story calls no tool
				t.Errorf("a tool that nobody called left %q", counted)
			}
		})
	}
}
