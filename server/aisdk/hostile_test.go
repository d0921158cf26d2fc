package aisdk

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/service"
)

// TestMessagesSentAtTheSameTimeBelongToOneChat sends messages to one new chat at the same time.
func TestMessagesSentAtTheSameTimeBelongToOneChat(t *testing.T) {
	t.Parallel()
	w := serve(t)
	var different []string
	for i := range 8 {
		different = append(different, chatBody("c", strings.Replace(said("look"), `"id":"`, fmt.Sprintf(`"id":"%d`, i), 1), ""))
	}
	for _, r := range w.SendTogether("POST /aisdk/clerk", different, "Last-Event-ID", "nonsense") {
		if r.Status != http.StatusOK && r.Status != http.StatusConflict {
			t.Errorf("a message is answered %d %s", r.Status, r.Body)
		}
	}
	list, err := w.Service.ListSessions(t.Context(), service.Operator(), service.SessionQuery{})
	if err != nil || len(list.Sessions) != 1 {
		t.Errorf("%v: there are %d sessions", err, len(list.Sessions))
	}
	before := w.Look.Count()
	replies := w.SendTogether("POST /aisdk/clerk", slices.Repeat([]string{chatBody("d", said("look"), "")}, 8))
	for _, r := range replies {
		if r != replies[0] || r.Status != http.StatusOK {
			t.Errorf("a repeated message gives %d %s", r.Status, r.Body)
		}
	}
	if n := w.Look.Count() - before; n != 1 {
		t.Errorf("a message that is repeated runs the tool %d times", n)
	}
}

// TestDecisionsSentAtTheSameTimeRunAToolOnce approves and refuses one call from several pages, one of
// which says something else.
func TestDecisionsSentAtTheSameTimeRunAToolOnce(t *testing.T) {
	t.Parallel()
	for round := range 5 {
		w := serve(t)
		turn := waitingTurn(t, w)
		var bodies []string
		for i := range 8 {
			answered := fmt.Sprintf(`{"id":%q,"role":"assistant","parts":[{"type":"tool-pay","state":"approval-responded","toolCallId":"%s/c0_0","approval":{"id":"%s/perm_c0_0","approved":%t}}]}`, turn, turn, turn, i%2 == 0)
			bodies = append(bodies, chatBody("c", said("pay")+","+answered, ""))
		}
		if round%2 == 0 {
			bodies = append(bodies, chatBody("c", said("pay")+","+said("never mind"), ""))
		}
		for _, r := range w.SendTogether("POST /aisdk/clerk", bodies) {
			if r.Status != http.StatusOK && r.Status != http.StatusConflict && r.Status != http.StatusBadRequest {
				t.Errorf("a decision is answered %d %s", r.Status, r.Body)
			}
		}
		if n := w.Pay.Count(); n > 1 {
			t.Errorf("the tool ran %d times", n)
		}
	}
}

// TestStreamsIgnoreLastEventID: a page that resumes reads the answer from its beginning.
func TestStreamsIgnoreLastEventID(t *testing.T) {
	t.Parallel()
	w := serve(t)
	w.Ask("alice", "POST /aisdk/clerk", chatBody("other", said("hi"), ""), http.StatusOK)
	begun, err := w.Send(t.Context(), "alice", "POST /aisdk/clerk", chatBody("c", said("hang"), ""))
	if err != nil {
		t.Fatal(err)
	}
	defer begun.Body.Close()
	first := readUntil(t, begun.Body, "well")
	for _, id := range []string{"", "nonsense", "-1", "1", "99999999999999999999999"} {
		resumed, err := w.Send(t.Context(), "alice", "GET /aisdk/clerk/c/stream", "", "Last-Event-ID", id)
		if err != nil {
			t.Fatal(err)
		}
		if got := readUntil(t, resumed.Body, "well"); got != first {
			t.Errorf("with %q it reads %s, and began with %s", id, got, first)
		}
		resumed.Body.Close()
	}
	w.Ask("alice", "POST /aisdk/clerk/c/stop", "", http.StatusOK)
	if rest := readUntil(t, begun.Body, "[DONE]"); !strings.Contains(rest, `"type":"abort"`) {
		t.Errorf("a stopped stream ends with %s", rest)
	}
}

// readUntil reads up to a word.
func readUntil(t *testing.T, r io.Reader, word string) string {
	t.Helper()
	var read []byte
	for b := make([]byte, 1); !strings.HasSuffix(string(read), word); {
		if _, err := r.Read(b); err != nil {
			t.Fatalf("%v after %s", err, read)
		}
		read = append(read, b...)
	}
	return string(read)
}

func TestABodyThatIsTooLargeIsRejected(t *testing.T) {
	t.Parallel()
	w := serve(t)
	if got := string(w.Ask("alice", "POST /aisdk/clerk", chatBody("c", said(strings.Repeat("x", 17<<20)), ""), http.StatusRequestEntityTooLarge)); !strings.Contains(got, "at most 16777216 are allowed") {
		t.Errorf("it is answered %s", got)
	}
}
