package agents

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/agents/wire"
)

// TestRequestsEndWithTheServerAndTurnsDoNot shuts the server down while requests wait for a
// turn that lasts.
func TestRequestsEndWithTheServerAndTurnsDoNot(t *testing.T) {
	t.Parallel()
	w := serving(t)
	type answer struct {
		status int
		text   string
	}
	ask := func(path, body string, header ...string) <-chan answer {
		answers := make(chan answer, 1)
		go func() {
			status, text := w.ask("alice", "POST /agents/clerk"+path, body, header...)
			answers <- answer{status, text}
		}()
		return answers
	}
	going := w.run(`{"data":{"message":{"content":[{"text":"hang"}]},"detach":true}}`)
	plain := ask("", say("hang", `{"sessionId":"plain"}`))
	begun := w.send("alice", "POST /agents/clerk", say("hang", `{"sessionId":"streamed"}`), "Accept", "text/event-stream")
	defer begun.Body.Close()
	stream := bufio.NewReader(begun.Body)
	first, err := stream.ReadString('\n')
	if err != nil || !strings.Contains(first, `"well"`) {
		t.Fatalf("the stream begins with %q, %v", first, err)
	}
	waiting := ask("/waitForSnapshot", about("snapshotId", going.SnapshotID))
	<-w.waits
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if status, _ := w.ask("alice", "POST /agents/clerk/getSnapshot", about("sessionId", "plain")); status == http.StatusOK {
			break
		}
		<-tick.C
	}
	w.server.BeginDrain()
	if got := <-waiting; got.status != http.StatusOK || !strings.Contains(got.text, `"status":"pending"`) {
		t.Errorf("the wait is answered with %+v", got)
	}
	if err := w.drain(); err != nil {
		t.Fatal(err)
	}
	var left wire.Reply[*wire.Output]
	if got := <-plain; got.status != http.StatusOK || json.Unmarshal([]byte(got.text), &left) != nil || left.Result.FinishReason != wire.FinishDetached || left.Result.SnapshotID == "" {
		t.Errorf("the turn is answered with %+v", got)
	}
	if rest, err := io.ReadAll(stream); err != nil || !strings.HasSuffix(strings.TrimSpace(string(rest)), `data: {"error":{"status":"UNAVAILABLE","message":"unavailable"}}`) {
		t.Errorf("the stream goes on with %q, %v", rest, err)
	}
}
