package builder_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

// source returns a remote source.
func source(name string) spec.RemoteSource {
	return spec.RemoteSource{Name: name, BaseURL: "https://" + name + ".example"}
}

// remote returns an agent as named by a peer.
func remote(id string) *spec.Agent {
	return &spec.Agent{ID: id, Endpoint: at("https://peer.example")}
}

func TestDiscoveredAgentsAppearBelowTheirSource(t *testing.T) {
	t.Parallel()
	b := demo().WithAgentSpec(agent(func(a *spec.Agent) { a.Delegates = []string{"cloud/translator", "edge/translator"} })).
		WithBackend(peers{kind: "a2a", discover: func(_ context.Context, s *spec.RemoteSource) ([]*spec.Agent, error) {
			if s.Name == "edge" {
				return []*spec.Agent{remote("translator"), remote("a")}, nil
			}
			return []*spec.Agent{remote("translator")}, nil
		}}).
		WithRemoteAgents(source("cloud")).WithRemoteAgents(source("edge"))
	rt, err := b.BuildAndDiscover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "cloud/translator", "edge/translator", "edge/a"}, rt.Revision().Set().AgentIDs()); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
	for asked, want := range map[string]string{
		"cloud/translator": "cloud/translator", "edge/translator": "edge/translator", "edge/a": "edge/a",
		"translator": "cloud/translator", // the first source with one
		"a":          "a",                // declared agents come first
		"local/a":    "a",
	} {
		plan, err := rt.Resolve(t.Context(), asked, resolve.Options{})
		if err != nil {
			t.Errorf("Resolve(%s): %v", asked, err)
			continue
		}
		if plan.Agent.ID != want || (plan.Remote != nil) != (want != "a") {
			t.Errorf("Resolve(%s) = agent %s, remote %v", asked, plan.Agent.ID, plan.Remote)
		}
	}
	for _, asked := range []string{"local/translator", "/translator", "other/translator", "cloud/", "cloud/a"} {
		if _, err := rt.Resolve(t.Context(), asked, resolve.Options{}); err == nil {
			t.Errorf("Resolve(%s) found an agent", asked)
		}
	}
	plan, _ := rt.Resolve(t.Context(), "a", resolve.Options{})
	if plan.Local.Tools.Get("agent_run_cloud_translator") == nil || plan.Local.Tools.Get("agent_run_edge_translator") == nil {
		t.Errorf("the delegates are no tools: %v", plan.Local.Tools.Declarations())
	}
}

// Each source waits for all others to be queried, so that sequential queries would never end.
func TestSourcesAreAskedAtTheSameTime(t *testing.T) {
	t.Parallel()
	const n = 5
	var here sync.WaitGroup
	here.Add(n)
	b := demo().WithAgentSpec(agent()).
		WithBackend(peers{kind: "a2a", discover: func(context.Context, *spec.RemoteSource) ([]*spec.Agent, error) {
			here.Done()
			here.Wait()
			return nil, nil
		}})
	for i := range n {
		b.WithRemoteAgents(source(fmt.Sprintf("s%d", i)))
	}
	if _, err := b.BuildAndDiscover(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// failing is a backend with three sources: the first fails, the second panics, the third returns
// agents.
func failing(kind string) peers {
	return peers{kind: kind, discover: func(_ context.Context, s *spec.RemoteSource) ([]*spec.Agent, error) {
		switch s.Name {
		case "down":
			return nil, errDown
		case "mad":
			panic("out of its mind")
		default:
			return []*spec.Agent{remote("x")}, nil
		}
	}}
}

var errDown = errors.New("nobody answers")

func TestASourceThatFailsIsOneErrorAndTheRestIsChecked(t *testing.T) {
	t.Parallel()
	b := demo().WithBackend(failing("a2a")).
		WithRemoteAgents(source("up")).WithRemoteAgents(source("down")).WithRemoteAgents(source("mad")).
		WithAgentSpecs(agent(func(a *spec.Agent) { a.Delegates = []string{"down/x", "up/x", "up/y"} }), spec.Agent{ID: "b", ModelID: "gone"})
	rt, err := b.BuildAndDiscover(t.Context())
	built, ok := errors.AsType[*builder.BuildError](err)
	if !ok || rt != nil {
		t.Fatalf("BuildAndDiscover = %v, %v", rt, err)
	}
	want := diag.List{
		found(diag.InvalidEndpoint, "", "remote_agents[1]", `remote source "down" cannot be discovered: nobody answers`, ""),
		found(diag.InvalidEndpoint, "", "remote_agents[2]", `remote source "mad" cannot be discovered: panic: out of its mind`, ""),
		found(diag.AgentNotFound, "a", "agents.a.delegates[2]", `agent "up/y" is not defined`, `did you mean "up/x"?`),
		found(diag.ModelNotFound, "b", "agents.b.model_id", `model "gone" is not defined`, ""),
	}
	if diff := cmp.Diff(want, built.Diagnostics); diff != "" {
		t.Errorf("diagnostics (-want +got):\n%s", diff)
	}
	if e, ok := errors.AsType[*builder.DiscoveryError](err); !ok || e.Source != "down" || !errors.Is(err, errDown) {
		t.Errorf("the error holds no *DiscoveryError with its cause: %v", err)
	}
}

// The next call queries a failed source again and forgets its earlier error.
func TestDiscoveryCanBeRepeated(t *testing.T) {
	t.Parallel()
	down := true
	b := demo().WithAgentSpec(agent(func(a *spec.Agent) { a.Delegates = []string{"cloud/x"} })).WithRemoteAgents(source("cloud")).
		WithBackend(peers{kind: "a2a", discover: func(context.Context, *spec.RemoteSource) ([]*spec.Agent, error) {
			if down {
				return nil, errDown
			}
			return []*spec.Agent{remote("x")}, nil
		}})
	if _, err := b.BuildAndDiscover(t.Context()); !errors.Is(err, errDown) {
		t.Fatalf("BuildAndDiscover = %v", err)
	}
	down = false
	first, err := b.BuildAndDiscover(t.Context())
	if err != nil {
		t.Fatalf("the source is up again: %v", err)
	}
	down = true
	b.Discover(t.Context())
	if _, ok := first.Revision().Set().Agent("cloud/x"); !ok {
		t.Error("a later discovery changed a revision that was built")
	}
}

func TestAnUndiscoveredDelegateIsAccepted(t *testing.T) {
	t.Parallel()
	rt, err := demo().WithBackend(peers{kind: "a2a"}).WithRemoteAgents(source("cloud")).
		WithAgentSpec(agent(func(a *spec.Agent) { a.Delegates = []string{"cloud/translator"} })).Build()
	if err != nil {
		t.Fatal(err)
	}
	plan, err := rt.Resolve(t.Context(), "a", resolve.Options{})
	if err != nil || plan.Local.Tools.Get("agent_run_cloud_translator") == nil {
		t.Errorf("Resolve = %+v, %v", plan, err)
	}
	_, err = demo().WithBackend(peers{kind: "a2a"}).WithRemoteAgents(source("cloud")).
		WithAgentSpec(agent(func(a *spec.Agent) { a.Delegates = []string{"clown/translator", "cloud/"} })).Build()
	want := []string{"agent-not-found agents.a.delegates[0]", "agent-not-found agents.a.delegates[1]"}
	if diff := cmp.Diff(want, places(diag.FromError(err))); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

// Data from a peer must not define local settings.
func TestWhatAPeerNamesIsNotTrusted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		agents []*spec.Agent
		says   string
	}{
		"an agent that would run here": {[]*spec.Agent{{ID: "x", ModelID: "m"}}, "has no endpoint"},
		"nil":                          {[]*spec.Agent{nil}, "nil agent"},
		"an id with a slash":           {[]*spec.Agent{remote("x/y")}, "is not allowed"},
		"an empty id":                  {[]*spec.Agent{remote("")}, "is not allowed"},
		"an id without end":            {[]*spec.Agent{remote(strings.Repeat("x", 1<<20))}, "is not allowed"},
		"two with one id":              {[]*spec.Agent{remote("x"), remote("x")}, "two agents"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := demo().WithRemoteAgents(source("cloud")).
				WithBackend(peers{kind: "a2a", discover: func(context.Context, *spec.RemoteSource) ([]*spec.Agent, error) {
					return tt.agents, nil
				}}).BuildAndDiscover(t.Context())
			if _, ok := errors.AsType[*builder.DiscoveryError](err); !ok || !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("BuildAndDiscover = %v, want a *DiscoveryError that says %q", err, tt.says)
			}
			if len(err.Error()) > 1000 {
				t.Errorf("the peer wrote %d bytes into the error", len(err.Error()))
			}
		})
	}
}

// A misconfigured source is not queried: one cause gives one diagnostic, and no token is sent.
func TestAMisconfiguredSourceIsNotAsked(t *testing.T) {
	t.Parallel()
	asked := false
	b := demo().WithAgentSpec(agent()).
		WithBackend(peers{kind: "a2a", discover: func(context.Context, *spec.RemoteSource) ([]*spec.Agent, error) {
			asked = true
			return nil, nil
		}}).
		WithRemoteAgents(spec.RemoteSource{Name: "cloud", BaseURL: "https://u:secret@cloud.example"}).
		WithRemoteAgents(spec.RemoteSource{Name: "local", BaseURL: "https://cloud.example"}).
		WithRemoteAgents(spec.RemoteSource{Name: "other", BaseURL: "https://cloud.example", Backend: "pigeon"})
	_, err := b.BuildAndDiscover(t.Context())
	want := []string{"invalid-endpoint remote_agents[0].base_url", "invalid-id remote_agents[1].name", "unsupported-backend remote_agents[2].backend"}
	if diff := cmp.Diff(want, places(diag.FromError(err))); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	if asked {
		t.Error("a misconfigured source was asked")
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the error shows a secret: %v", err)
	}
}

func TestAPeerThatIsDownIsAskedAgain(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	answers := map[string][]*spec.Agent{}
	answer := func(name string, agents ...*spec.Agent) {
		mu.Lock()
		defer mu.Unlock()
		answers[name] = agents
	}
	b := demo().WithAgentSpec(agent(func(a *spec.Agent) { a.Delegates = []string{"cloud/translator"} })).
		WithBackend(peers{kind: "a2a", discover: func(_ context.Context, s *spec.RemoteSource) ([]*spec.Agent, error) {
			mu.Lock()
			defer mu.Unlock()
			if answers[s.Name] == nil {
				return nil, errors.New("it is down")
			}
			return answers[s.Name], nil
		}}).
		WithRemoteAgents(source("cloud")).WithRemoteAgents(source("edge"))
	answer("edge", remote("translator"))
	if errs := b.LearnAgents(t.Context()); len(errs) != 1 || errs[0].Source != "cloud" {
		t.Fatalf("what went wrong: %v", errs)
	}
	rt, err := b.Build()
	if err != nil {
		t.Fatalf("a peer that is down keeps the runtime from being built: %v", err)
	}
	if _, err := rt.Resolve(t.Context(), "cloud/translator", resolve.Options{}); err == nil {
		t.Error("an agent resolves whose peer was not asked")
	}
	if err := builder.Rediscover(t.Context(), rt); !errors.As(err, new(*builder.DiscoveryError)) || rt.Revision().Number() != 1 {
		t.Errorf("nothing new gives revision %d, %v", rt.Revision().Number(), err)
	}
	answer("cloud", remote("translator"))
	answer("edge")
	if err := builder.Rediscover(t.Context(), rt); !errors.As(err, new(*builder.DiscoveryError)) {
		t.Errorf("a peer that is down gives %v", err)
	}
	for _, id := range []string{"cloud/translator", "edge/translator"} {
		if _, err := rt.Resolve(t.Context(), id, resolve.Options{}); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	answer("edge", remote("translator"))
	if err := builder.Rediscover(t.Context(), rt); err != nil || rt.Revision().Number() != 2 {
		t.Errorf("the same again gives revision %d, %v", rt.Revision().Number(), err)
	}
}
