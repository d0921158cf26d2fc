package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	agentwire "github.com/agentruntime/agentruntime/agents/wire"
)

// toldStory is the model's answer to "Tell a story", which takes four seconds.
const toldStory = "once upon a time there was a server that was killed in the middle of a word and yet told all of it to the end"

// agentsClient is a client of the agents API that implements only the protocol.
type agentsClient struct {
	t    *testing.T
	base string
}

// send sends a request about the agent clerk and returns the response, or nil without a response.
func (c *agentsClient) send(path, body string, header ...string) *http.Response {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	c.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/agents/clerk"+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header = bearer(rightKey)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil
	}
	return resp
}

// askAgents sends a request, requires it to succeed, and returns its result.
func askAgents[T any](c *agentsClient, path, body string) *T {
	c.t.Helper()
	resp := c.send(path, body)
	if resp == nil {
		c.t.Fatalf("%s: nobody answers", path)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	var reply agentwire.Reply[*T]
	if err != nil || resp.StatusCode != http.StatusOK || json.Unmarshal(text, &reply) != nil || reply.Result == nil {
		c.t.Fatalf("%s %s: %s %s %v", path, body, resp.Status, text, err)
	}
	return reply.Result
}

// sayTo returns the body of a turn.
func sayTo(sessionID, text string, detach bool) string {
	return fmt.Sprintf(`{"data":{"message":{"content":[{"text":%q}]},"detach":%t},"init":{"sessionId":%q}}`, text, detach, sessionID)
}

// aboutSnapshot returns the body of a request about a snapshot.
func aboutSnapshot(id string) string { return fmt.Sprintf(`{"data":{"snapshotId":%q}}`, id) }

// agentStream is the part of a stream read by a client.
type agentStream struct {
	id     string
	said   string
	ends   int
	output *agentwire.Output
}

// read reads a stream until it has the given number of text chunks, or to its end; a stream with an
// id is read again from its beginning.
func (c *agentsClient) read(body, id string, pieces int) *agentStream {
	c.t.Helper()
	header := []string{"Accept", "text/event-stream, */*"}
	if id != "" {
		header = append(header, "X-Genkit-Stream-Id", id)
	}
	got := new(agentStream)
	resp := c.send("", body, header...)
	if resp == nil {
		return got
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return got
	}
	got.id = resp.Header.Get("X-Genkit-Stream-Id")
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var frame agentwire.Frame
		if err := json.Unmarshal([]byte(data), &frame); err != nil {
			c.t.Fatalf("frame %s: %v", data, err)
		}
		switch {
		case frame.Result != nil:
			got.output = frame.Result
		case frame.Message != nil && frame.Message.TurnEnd != nil:
			got.ends++
		case frame.Message != nil && frame.Message.ModelChunk != nil:
			text := agentwire.Message{Content: frame.Message.ModelChunk.Content}
			got.said += text.Text()
			if pieces--; pieces == 0 {
				return got
			}
		}
	}
	return got
}

// readOut rereads a stream until it is complete, despite server failures.
func (c *agentsClient) readOut(body, id string) *agentStream {
	c.t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for range 500 {
		if got := c.read(body, id, 0); got.output != nil {
			return got
		}
		<-again.C
	}
	c.t.Fatalf("stream %s does not end", id)
	return nil
}

// expect compares a whole stream with the model's answer.
func (c *agentsClient) expect(got *agentStream, want string) {
	c.t.Helper()
	if got.said != want || got.ends != 1 || got.output.FinishReason != agentwire.FinishStop || got.output.Message.Text() != want {
		c.t.Errorf("the stream says %q, ends %d times, and comes to %+v", got.said, got.ends, got.output)
	}
}

func TestStreamsAndDetachedTurnsOfAgentsSurviveTheDeathOfTheirServer(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]func(*testing.T) string{"sqlite": onSQLite, "postgres": onPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := mortal(t, store(t), "")
			s := f.start("127.0.0.1:0")
			c := &agentsClient{t: t, base: s.url}
			detached := askAgents[agentwire.Output](c, "", sayTo("alone", "Tell a story", true))
			body := sayTo("read", "Tell a story", false)
			cut := c.read(body, "", 3)
			if cut.id == "" || cut.said == "" || !strings.HasPrefix(toldStory, cut.said) || detached.FinishReason != agentwire.FinishDetached {
				t.Fatalf("the stream is %+v, the detached turn %+v", cut, detached)
			}
			s.kill()
			if c.read(body, cut.id, 0).output != nil {
				t.Error("a server that was killed answers")
			}
			f.start(s.address)

			// The stream is read while the turn runs and again after the turn has ended.
			c.expect(c.readOut(body, cut.id), toldStory)
			c.expect(c.readOut(body, cut.id), toldStory)
			for _, id := range []string{detached.SnapshotID, cut.id} {
				kept := askAgents[agentwire.Snapshot](c, "/waitForSnapshot", aboutSnapshot(id))
				if kept.Status != agentwire.SnapshotCompleted || len(kept.State.Messages) != 2 || kept.State.Messages[1].Text() != toldStory {
					t.Errorf("got %+v", kept)
				}
			}
			if next := askAgents[agentwire.Output](c, "", sayTo("read", "Good morning", false)); next.FinishReason != agentwire.FinishStop {
				t.Errorf("the session goes on with %+v", next)
			}
		})
	}
}

func TestAnotherReplicaTakesOverTurnsOfAgentsAndAbortsThem(t *testing.T) {
	t.Parallel()
	f := mortal(t, onPostgres(t), "")
	one, two := f.start("127.0.0.1:0"), f.start("127.0.0.1:0")
	at, other := &agentsClient{t: t, base: one.url}, &agentsClient{t: t, base: two.url}

	// A turn begun by one replica is aborted at another.
	hanging := askAgents[agentwire.Output](at, "", sayTo("aborted", "Tell a story", true))
	began := time.Now()
	if a := askAgents[agentwire.AbortResponse](other, "/abort", aboutSnapshot(hanging.SnapshotID)); a.Status == "" {
		t.Errorf("got %+v", a)
	}
	if kept := askAgents[agentwire.Snapshot](at, "/waitForSnapshot", aboutSnapshot(hanging.SnapshotID)); kept.Status != agentwire.SnapshotAborted {
		t.Errorf("got %+v", kept)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the abort took %s", took)
	}
	if next := askAgents[agentwire.Output](at, "", sayTo("aborted", "Good morning", false)); next.FinishReason != agentwire.FinishStop {
		t.Errorf("the session goes on with %+v", next)
	}

	detached := askAgents[agentwire.Output](at, "", sayTo("alone", "Tell a story", true))
	body := sayTo("read", "Tell a story", false)
	cut := at.read(body, "", 3)
	one.kill()
	other.expect(other.readOut(body, cut.id), toldStory)
	if kept := askAgents[agentwire.Snapshot](other, "/waitForSnapshot", aboutSnapshot(detached.SnapshotID)); kept.Status != agentwire.SnapshotCompleted {
		t.Errorf("got %+v", kept)
	}
	if _, err := os.Stat(f.counted); err == nil {
		t.Error("a tool ran that nobody called")
	}
}
