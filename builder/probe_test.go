package builder_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
)

// probed is a backend that can probe peers.
type probed struct {
	peers
	probe func(e *spec.Endpoint) error
}

func (p probed) Probe(_ context.Context, e *spec.Endpoint) error { return p.probe(e) }

// far returns an agent that runs at a peer.
func far(id, host string) spec.Agent {
	return spec.Agent{ID: id, Endpoint: at("https://" + host + ".example")}
}

func TestPeersAreProbed(t *testing.T) {
	t.Parallel()
	down := errors.New("it is down")
	b := demo().WithAgentSpec(agent()).
		WithAgentSpec(far("one", "up")).WithAgentSpec(far("two", "down")).WithAgentSpec(far("three", "panics")).
		WithBackend(probed{peers: peers{kind: "a2a"}, probe: func(e *spec.Endpoint) error {
			switch e.BaseURL {
			case "https://down.example":
				return down
			case "https://panics.example":
				panic("oh")
			}
			return nil
		}})
	if _, err := b.Build(); err != nil {
		t.Fatalf("peers are asked that nobody wanted asked: %v", err)
	}
	for range 2 { // each time anew
		b.ProbePeers(t.Context())
		_, err := b.Build()
		invalid, ok := errors.AsType[*resolve.InvalidEndpointError](err)
		if !ok || invalid.Agent != "two" {
			t.Fatalf("error is %v", err)
		}
		for _, want := range []string{`the peer of agent "two" cannot be used: it is down`, `the peer of agent "three" cannot be used: panic: oh`} {
			if strings.Count(err.Error(), want) != 1 {
				t.Errorf("error is %v, want %q in it once", err, want)
			}
		}
		if strings.Contains(err.Error(), `"one"`) {
			t.Errorf("error is %v", err)
		}
	}
}

// Backends that cannot probe and invalid endpoints are skipped.
func TestOnlyRightEndpointsAreProbed(t *testing.T) {
	t.Parallel()
	b := builder.New().WithAgentSpec(far("one", "up")).WithAgentSpec(spec.Agent{ID: "two", Endpoint: at("nonsense")}).
		WithAgentSpec(spec.Agent{ID: "three", Endpoint: &spec.Endpoint{Backend: "other", BaseURL: "https://x.example"}}).
		WithBackend(probed{peers: peers{kind: "a2a"}, probe: func(e *spec.Endpoint) error {
			if e.BaseURL != "https://up.example" {
				t.Errorf("%s was asked", e.BaseURL)
			}
			return nil
		}}).WithBackend(peers{kind: "other"})
	b.ProbePeers(t.Context())
	if _, err := b.Build(); err == nil || strings.Contains(err.Error(), "cannot be used") {
		t.Errorf("error is %v", err)
	}
}
