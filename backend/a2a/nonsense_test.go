package a2abackend

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.uber.org/zap"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// nonsense are results that are JSON, and hardly anything else, in the forms of
// both versions.
var nonsense = []string{
	`null`, `1`, `"task"`, `[]`, `{}`, `{"task":null}`, `{"task":{}}`, `{"task":{"id":"t"}}`, `{"task":{"id":"t","status":null}}`,
	`{"task":{"id":"t","status":{"message":{"parts":[null]}},"artifacts":[null,{"parts":[null]},{"parts":null}],"history":[null,{"role":"ROLE_AGENT"}]}}`,
	`{"statusUpdate":{}}`, `{"statusUpdate":{"taskId":"t"}}`, `{"artifactUpdate":{"taskId":"t"}}`, `{"artifactUpdate":{"taskId":"t","artifact":{}}}`,
	`{"message":{}}`, `{"message":{"parts":[null]}}`, `{"message":{"parts":[{}]}}`, `{"message":{"parts":[{"text":"a","data":1}]}}`, `{"task":{},"message":{}}`,
	`{"kind":"task"}`, `{"kind":"task","id":"t","status":null,"artifacts":[null],"history":[null]}`,
	`{"kind":"task","id":"t","status":{"state":"working","message":{"kind":"message","parts":[null]}}}`,
	`{"kind":"task","id":"t","status":{"state":"completed"},"artifacts":[{"parts":[null,{"kind":"text"},{"kind":"file","file":null},{"kind":"data","data":null}]}]}`,
	`{"kind":"status-update","taskId":"t"}`, `{"kind":"status-update","taskId":"t","status":null}`, `{"kind":"artifact-update","taskId":"t"}`,
	`{"kind":"artifact-update","taskId":"t","artifact":{"parts":[{"kind":"file","file":{"bytes":"%%%"}}]}}`, `{"kind":"message"}`,
	`{"kind":"message","parts":[{"kind":"video"}],"role":"nobody"}`, `{"kind":"secret"}`,
}

// Whatever a peer says, of either version: the turn ends.
func TestNothingThatAPeerSaysIsTooMuch(t *testing.T) {
	t.Parallel()
	for _, version := range []a2a.ProtocolVersion{version1, version03} {
		for i, what := range nonsense {
			t.Run(fmt.Sprintf("%s %d", version, i), func(t *testing.T) {
				t.Parallel()
				h := newHost(t)
				h.answer(func(w http.ResponseWriter, _ *http.Request) {
					card := cardOf(h.URL)
					card.SupportedInterfaces[0].ProtocolVersion = version
					writeJSON(w, card)
				}, func(w http.ResponseWriter, r *http.Request) {
					envelope := `{"jsonrpc":"2.0","id":"` + sameID + `","result":` + what + `}`
					if r.Header.Get("Accept") != typeEvents {
						w.Header().Set("Content-Type", typeJSON)
						_, _ = io.WriteString(w, envelope)
						return
					}
					w.Header().Set("Content-Type", typeEvents)
					_, _ = io.WriteString(w, "data: "+envelope+"\n\ndata: "+envelope+"\n\n")
				})
				e := h.endpoint(`{"allow_v0_3":true}`)
				e.Timeout = new(spec.Duration(50 * time.Millisecond))
				for _, stream := range []bool{true, false} {
					r := &rig{t: t, remote: remoteOf(t, e), host: &turnHost{session: tools.NoSession}, job: newJob()}
					r.remote.peer.options.stream = stream
					res, err := r.run(t.Context())
					if got := termination(res, err); got.Type == "" {
						t.Errorf("it does not end: %+v", res)
					}
				}
			})
		}
	}
}

// Whatever events come: none of them panics, and what is shown is the text.
func FuzzTake(f *testing.F) {
	for _, what := range nonsense {
		f.Add([]byte(what), []byte(`{"artifactUpdate":{"taskId":"t","append":true,"artifact":{"artifactId":"a","parts":[{"text":"hi"}]}}}`))
	}
	p, err := newPeer(&spec.Endpoint{BaseURL: "https://agents.example"}, zap.NewNop())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		h := &turnHost{session: tools.NoSession}
		d, err := newDelegation(p, newJob(), h)
		if err != nil {
			t.Fatal(err)
		}
		d.grants, d.course.MessageID = true, "m"
		for _, data := range [][]byte{first, second, first} {
			var ev a2a.StreamResponse
			if json.Unmarshal(data, &ev) != nil {
				continue
			}
			if d.take(t.Context(), ev.Event) != nil {
				return
			}
		}
		if !d.assembly.stale && h.text() != d.assembly.text() {
			t.Fatalf("%q is shown of %q", h.text(), d.assembly.text())
		}
		if termination, err := d.conclude(); err == nil && termination.Type == event.NaturalEnd && h.text() != d.response {
			t.Fatalf("%q is shown of %q", h.text(), d.response)
		}
		stored(t, d.state())
	})
}

func TestIDsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for id, want := range map[string][2]bool{ // unfit, unfit in a path
		"": {}, "0198c2-a": {}, "a:b@c": {}, "a/b": {false, true}, "a?b": {false, true}, "..": {false, true}, "%2e": {false, true},
		"a\nb": {true, true}, "a\x00": {true, true}, "a\xff": {true, true}, strings.Repeat("x", maxID+1): {true, true},
	} {
		if got := [2]bool{unfit(id, false) != "", unfit(id, true) != ""}; got != want {
			t.Errorf("%.20q is unfit: %v", id, got)
		}
	}
}
