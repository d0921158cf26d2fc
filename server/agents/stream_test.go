package agents

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
)

// streamOf reads a stream of somebody, and returns its id and its frames.
func (w *world) streamOf(name, body, id string) (status int, streamID, text string) {
	w.t.Helper()
	header := []string{"Accept", "text/event-stream"}
	if id != "" {
		header = append(header, streamIDHeader, id)
	}
	resp := w.send(name, "POST /agents/clerk", body, header...)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get(streamIDHeader), string(data)
}

// messagesOf returns what the model says in a stream, with a bar between messages, and the
// last frame.
func messagesOf(t *testing.T, stream string) (said, last string) {
	t.Helper()
	frames := strings.Split(strings.TrimSpace(stream), "\n\n")
	for _, frame := range frames {
		if _, text, ok := strings.Cut(frame, `"modelChunk":`); ok {
			for _, part := range strings.Split(text, `"text":"`)[1:] {
				word, _, _ := strings.Cut(part, `"`)
				said += word
			}
		}
	}
	return said, frames[len(frames)-1]
}

func TestAStreamIsReadAgainByItsID(t *testing.T) {
	t.Parallel()
	w := serving(t)
	status, id, first := w.streamOf("alice", say("one two three", `{"sessionId":"mine"}`), "")
	if status != http.StatusOK || id == "" {
		t.Fatalf("%d, stream %q", status, id)
	}
	said, last := messagesOf(t, first)
	status, again, second := w.streamOf("alice", say("one two three", `{"sessionId":"mine"}`), id)
	repeated, lastAgain := messagesOf(t, second)
	if status != http.StatusOK || again != id || repeated != said || said != "one two three" || lastAgain != last {
		t.Errorf("%d, stream %q:\n%s\nfirst:\n%s", status, again, second, first)
	}
	if turn := w.run(say("four", `{"sessionId":"mine"}`)); turn.FinishReason != "stop" {
		t.Errorf("the session goes on with %+v", turn)
	}
}

func TestAStreamOfAResumedTurnBeginsWhereItContinued(t *testing.T) {
	t.Parallel()
	w := serving(t)
	_, id, text := w.streamOf("alice", say("pay", `{"sessionId":"mine"}`), "")
	if !strings.Contains(text, `"finishReason":"interrupted"`) {
		t.Fatalf("got %s", text)
	}
	answer := `{"data":{"resume":{"respond":[{"toolResponse":{"name":"pay","ref":"call_1","output":{"approved":true}}}]}},"init":{"sessionId":"mine"}}`
	_, resumed, first := w.streamOf("alice", answer, "")
	_, _, second := w.streamOf("alice", answer, resumed)
	said, last := messagesOf(t, first)
	again, lastAgain := messagesOf(t, second)
	if resumed == id || said != "Done." || again != said || last != lastAgain {
		t.Errorf("stream %s after %s:\n%s\nagain:\n%s", resumed, id, first, second)
	}
}

func TestAStreamThatBrokeOffIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	w := serving(t)
	resp := w.send("alice", "POST /agents/clerk", say("hang", `{"sessionId":"mine"}`), "Accept", "text/event-stream")
	id := resp.Header.Get(streamIDHeader)
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	if err != nil || !strings.Contains(line, "well") {
		t.Fatalf("%q, %v", line, err)
	}
	resp.Body.Close() // the client is gone, and the turn goes on
	ended := make(chan string, 1)
	go func() {
		_, _, text := w.streamOf("alice", say("hang", `{"sessionId":"mine"}`), id)
		ended <- text
	}()
	if status, text := w.ask("alice", "POST /agents/clerk/abort", `{"data":{"snapshotId":"`+id+`"}}`); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	if text := <-ended; !strings.Contains(text, `"text":"well"`) || !strings.Contains(text, `"finishReason":"aborted"`) {
		t.Errorf("got %s", text)
	}
}

func TestAnUnknownStreamHasNoContent(t *testing.T) {
	t.Parallel()
	w := serving(t)
	_, id, _ := w.streamOf("alice", say("one", `{}`), "")
	for name, who := range map[string][2]string{
		"of nobody": {"alice", "nothing"}, "with a bad place": {"alice", id + "~x"}, "of another subject": {"bob", id}, "of another tenant": {"eve", id},
	} {
		if status, _, text := w.streamOf(who[0], say("one", "{}"), who[1]); status != http.StatusNoContent || text != "" {
			t.Errorf("a stream %s: %d %s", name, status, text)
		}
	}
}
