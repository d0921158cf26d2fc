package a2a

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
	"github.com/agentruntime/agentruntime/backend/a2a/internal/exchange"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/internal/testkit/peertest"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// nonsense contains results of both versions that are valid JSON but little else.
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

// Whatever a peer of either version sends, the turn ends.
func TestNothingThatAPeerSaysIsTooMuch(t *testing.T) {
	t.Parallel()
	for _, version := range []a2a.ProtocolVersion{client.Version1, client.Version03} {
		for i, what := range nonsense {
			t.Run(fmt.Sprintf("%s %d", version, i), func(t *testing.T) {
				t.Parallel()
				h := peertest.NewHost(t)
				h.Answer(func(w http.ResponseWriter, _ *http.Request) {
					card := peertest.CardOf(h.URL)
					card.SupportedInterfaces[0].ProtocolVersion = version
					peertest.WriteJSON(w, card)
				}, func(w http.ResponseWriter, r *http.Request) {
					envelope := `{"jsonrpc":"2.0","id":"` + peertest.SameID + `","result":` + what + `}`
					if r.Header.Get("Accept") != client.TypeEvents {
						w.Header().Set("Content-Type", client.TypeJSON)
						_, _ = io.WriteString(w, envelope)
						return
					}
					w.Header().Set("Content-Type", client.TypeEvents)
					_, _ = io.WriteString(w, "data: "+envelope+"\n\ndata: "+envelope+"\n\n")
				})
				e := h.Endpoint(`{"allow_v0_3":true}`)
				e.Timeout = new(spec.Duration(50 * time.Millisecond))
				for _, stream := range []bool{true, false} {
					r := &rig{t: t, remote: remoteOf(t, e), host: &turnHost{session: tools.NoSession}, job: newJob()}
					r.remote.peer.Options.Stream = stream
					res, err := r.run(t.Context())
					if got := termination(res, err); got.Type == "" {
						t.Errorf("it does not end: %+v", res)
					}
				}
			})
		}
	}
}

// sentTurn returns a turn whose message was sent to a peer that knows the extension.
func sentTurn(t testing.TB) (begin func(t testing.TB, h *turnHost) *turn) {
	t.Helper()
	s := peertest.NewHost(t)
	card := peertest.CardOf(s.URL)
	card.Capabilities.Extensions = []a2a.AgentExtension{a2awire.Declaration()}
	s.Answer(func(w http.ResponseWriter, _ *http.Request) { peertest.WriteJSON(w, card) }, nil)
	p := remoteOf(t, s.Endpoint("")).peer
	return func(t testing.TB, h *turnHost) *turn {
		begun, err := newTurn(p, newJob(), h)
		if err != nil {
			t.Fatal(err)
		}
		begun.exchange = exchange.New(p, begun.exchangeHooks(), exchange.Position{MessageID: "m"}, false)
		if _, err := begun.exchange.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		return begun
	}
}

// No sequence of events causes a panic, and the display equals the text.
func FuzzTake(f *testing.F) {
	for _, what := range nonsense {
		f.Add([]byte(what), []byte(`{"artifactUpdate":{"taskId":"t","append":true,"artifact":{"artifactId":"a","parts":[{"text":"hi"}]}}}`))
	}
	begin := sentTurn(f)
	f.Fuzz(func(t *testing.T, first, second []byte) {
		h := &turnHost{session: tools.NoSession}
		turn := begin(t, h)
		x := turn.exchange
		for _, data := range [][]byte{first, second, first} {
			var ev a2a.StreamResponse
			if json.Unmarshal(data, &ev) != nil {
				continue
			}
			if x.Take(t.Context(), ev.Event) != nil {
				return
			}
		}
		if termination, err := turn.finishStep(); err == nil && termination.Type == event.NaturalEnd && h.text() != turn.response {
			t.Fatalf("%q is shown of %q", h.text(), turn.response)
		}
		stored(t, turn.currentState())
	})
}

// A turn fails at a peer that answers other requests and uses nothing from those answers.
func TestATurnTakesNothingFromTheAnswerToAnotherRequest(t *testing.T) {
	t.Parallel()
	other := func(w http.ResponseWriter, _ *peertest.Request) {
		w.Header().Set("Content-Type", client.TypeJSON)
		_, _ = io.WriteString(w, strings.ReplaceAll(peertest.Envelope("result", a2a.StreamResponse{Event: peertest.Task(peertest.Completed, "of somebody else")}), peertest.SameID, "another"))
	}
	r := newRig(t, map[string][]peertest.Reply{peertest.MethodStream: {other}, peertest.MethodSend: {other}})
	res, err := r.run(t.Context())
	if got := termination(res, err); got.Code != client.CodeProtocol || res != nil && res.Response != "" {
		t.Errorf("it ends by %+v, %+v", got, res)
	}
}
