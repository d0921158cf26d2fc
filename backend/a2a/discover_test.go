package a2abackend

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentruntime/agentruntime/spec"
)

func TestASourceHasTheAgentOfItsCard(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	card := cardOf(h.URL + "/rpc")
	card.Name, card.Description = "  Translator (EN → DE)! ", "Translates\x1b[31m, token hush-hush."+strings.Repeat("x", 5000)
	h.answer(func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, card) }, nil)
	source := &spec.RemoteSource{
		Name: "cloud", BaseURL: h.URL, Auth: &spec.Auth{Type: spec.AuthBearer, Token: "hush-hush"},
		Options: map[string]json.RawMessage{"stream": []byte("false")},
	}
	got, err := NewFactory(Settings{}).Discover(t.Context(), source)
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	agent := got[0]
	if agent.ID != "translator-en-de" || agent.Local() || len(agent.Description) > maxDescription || !strings.HasPrefix(agent.Description, "Translates[31m, token ***.") {
		t.Errorf("agent %s: %.60q", agent.ID, agent.Description)
	}
	// The peer is reached as the source says, not where the card would have it.
	if diff := cmp.Diff(source.Endpoint(), agent.Endpoint); diff != "" {
		t.Errorf("the endpoint (-want +got):\n%s", diff)
	}
}

func TestASourceThatCannotBeDiscovered(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.answer(http.NotFound, nil)
	for options, want := range map[string]string{
		`{}`:           "fetch the agent card: the peer answers 404 Not Found",
		`{"stream":1}`: "stream is neither true nor false",
	} {
		source := &spec.RemoteSource{Name: "cloud", BaseURL: h.URL, Options: h.endpoint(options).Options}
		if got, err := NewFactory(Settings{}).Discover(t.Context(), source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", options, got, err)
		}
	}
}

func TestNamesBecomeIDs(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Translator": "translator", "Weather & Time Agent 2": "weather-time-agent-2", "--a__b--": "a-b",
		"": "weather", "!!!": "weather", "Übersetzer": "bersetzer", "日本": "weather", "a/b": "a-b",
		strings.Repeat("ab", 200): strings.Repeat("ab", 40),
	} {
		got := agentID(name, "https://a.example/agents/Weather/")
		if got != want || spec.CheckID("", "agent", got) != nil {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
	if got := agentID("日本", "https://a.example/"); got != "agent" {
		t.Errorf("without a name and a path the id is %q", got)
	}
}
