package a2a

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
	"github.com/agentruntime/agentruntime/internal/testkit/peertest"
	"github.com/agentruntime/agentruntime/spec"
)

func TestASourceHasTheAgentOfItsCard(t *testing.T) {
	t.Parallel()
	h := peertest.NewHost(t)
	card := peertest.CardOf(h.URL + "/rpc")
	card.Name, card.Description = "  Translator (EN → DE)! ", "Translates\x1b[31m, token hush-hush."+strings.Repeat("x", 5000)
	h.Answer(func(w http.ResponseWriter, _ *http.Request) { peertest.WriteJSON(w, card) }, nil)
	source := &spec.RemoteSource{
		Name: "cloud", BaseURL: h.URL, Auth: &spec.Auth{Type: spec.AuthBearer, Token: "hush-hush"},
		Options: map[string]json.RawMessage{"stream": []byte("false")},
	}
	got, err := NewFactory(Settings{}).Discover(t.Context(), source)
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	agent := got[0]
	if agent.ID != "translator-en-de" || agent.Local() || len(agent.Description) > client.MaxDescription || !strings.HasPrefix(agent.Description, "Translates[31m, token ***.") {
		t.Errorf("agent %s: %.60q", agent.ID, agent.Description)
	}
	// The peer is reached as the source says, not as the card says.
	if diff := cmp.Diff(source.Endpoint(), agent.Endpoint); diff != "" {
		t.Errorf("the endpoint (-want +got):\n%s", diff)
	}
}

func TestASourceThatCannotBeDiscovered(t *testing.T) {
	t.Parallel()
	h := peertest.NewHost(t)
	h.Answer(http.NotFound, nil)
	for options, want := range map[string]string{
		`{}`:           "fetch the agent card: the peer answers 404 Not Found",
		`{"stream":1}`: "stream is neither true nor false",
	} {
		source := &spec.RemoteSource{Name: "cloud", BaseURL: h.URL, Options: h.Endpoint(options).Options}
		if got, err := NewFactory(Settings{}).Discover(t.Context(), source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", options, got, err)
		}
	}
}
