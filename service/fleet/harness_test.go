package fleet_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins/permission"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/fleet"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
	"github.com/agentruntime/agentruntime/store/memory"
	"github.com/agentruntime/agentruntime/tools"
	"go.uber.org/zap"
)

var alice = service.Caller{Tenant: "acme", Subject: "alice"}

// fakeProvider is the record of the provider kind of tests.
type fakeProvider struct {
	Key string `json:"key,omitempty" secret:"true" doc:"A key."`
}

// process is a process with a store: its content comes from a configuration and from the program.
type process struct {
	t       testing.TB
	exec    *turntest.Answerer
	file    *config.File
	runtime *runtime.AgentRuntime
	fleet   *fleet.Fleet
	service *service.Service
}

// program is the definition of a process besides its configuration.
type program struct {
	store store.Store
	// fromStore makes the store authoritative.
	fromStore bool
	// risky is set if the program has the tool risky.
	risky  bool
	notify func()
	// tenantCache is the number of tenants that the process keeps ready; 0 means the default.
	tenantCache int
	gone        service.GonePolicy
	// tools are the kinds of tools known to the process, and dir is its directory.
	tools []tools.Kind
	dir   string
	// agentProviders are the kinds of agent providers known to the process.
	agentProviders []backend.AgentProviderKind
	// env are the environment variables of the process.
	env  map[string]string
	exec *turntest.Answerer
	// logger may be nil.
	logger *zap.Logger
}

// newStore returns a store that tests share.
func newStore(t *testing.T) *memory.Store {
	m := memory.New(store.Settings{})
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// asksOnce returns a model that makes a risky call and then ends.
func asksOnce() *turntest.Answerer {
	return turntest.Scripts(map[string][]turntest.Answer{"up": {turntest.Calls("a", "risky", "{}"), {Text: "all done"}}})
}

func (p *program) kinds() config.Kinds {
	return config.Kinds{Tools: p.tools, AgentProviders: p.agentProviders, Providers: []model.ProviderKind{
		spec.NewKind("fake", "Answers as the test says.", func(model.Settings, *fakeProvider) (model.Executor, error) { return p.exec, nil }),
	}}
}

func (p *program) options() config.Options {
	env := p.env
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	return config.Options{Kinds: p.kinds(), LookupEnv: lookup, RequireVariables: true}
}

func (p *program) newBuilder() *builder.AgentRuntimeBuilder {
	b := builder.New().WithPlugin("cautious", turntest.Cautious).WithPlugin("permission", permission.New())
	if p.risky {
		b.WithTool("risky", turntest.Risky)
	}
	return b
}

// start starts a process, which stops at the latest when the test ends.
func (p *program) start(t testing.TB, text string) *process {
	t.Helper()
	file, found := config.Parse([]config.Source{{Name: "config.yaml", Data: []byte(text)}}, p.options())
	if found.HasErrors() {
		t.Fatal(found)
	}
	rt, err := p.newBuilder().WithConfig(file).Build()
	if err != nil {
		t.Fatal(err)
	}
	f, err := fleet.New(fleet.Settings{
		Store: p.store, Runtime: rt, NewBuilder: p.newBuilder, Config: p.options(),
		Dir: p.dir, FromStore: p.fromStore, Notify: p.notify, Logger: p.logger, TenantCache: p.tenantCache,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Start(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	s := service.New(service.Settings{
		Runtime: rt, Store: p.store, Dispatcher: local.New(local.Settings{Concurrency: 4}), Revisions: f, Tenants: f, OnRevisionGone: p.gone,
	})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	one := &process{t, p.exec, file, rt, f, s}
	t.Cleanup(one.stop)
	return one
}

// stop ends the process. It may be called twice.
func (p *process) stop() {
	p.service.Close()
	p.fleet.Close()
	_ = p.runtime.Close()
}

// follow makes the process follow other publications until the test ends.
func (p *process) follow() {
	ctx, cancel := context.WithCancel(context.Background())
	var following sync.WaitGroup
	following.Go(func() { p.fleet.Follow(ctx) })
	p.t.Cleanup(func() { cancel(); following.Wait() })
}

// wait makes a turn that waits for a person.
func (p *process) wait(agent string) (turnID string) {
	p.t.Helper()
	session, err := p.service.CreateSession(p.t.Context(), alice, service.CreateSession{AgentID: agent})
	if err != nil {
		p.t.Fatal(err)
	}
	made, err := p.service.CreateTurn(p.t.Context(), alice, service.CreateTurn{SessionID: session.ID, Input: []model.Message{model.User("go")}})
	if err != nil {
		p.t.Fatal(err)
	}
	p.until("the turn waits", func() bool {
		turn, err := p.service.GetTurn(p.t.Context(), alice, made.ID)
		return err == nil && turn.Status == store.Waiting
	})
	return made.ID
}

// approve approves a turn's request and returns the ended turn.
func (p *process) approve(turnID string) *service.Turn {
	p.t.Helper()
	if _, err := p.service.AnswerInteraction(p.t.Context(), alice, turnID, turntest.Yes("may_a")); err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(p.t.Context(), 20*time.Second)
	defer cancel()
	turn, err := p.service.WaitTurn(ctx, alice, turnID)
	if err != nil {
		p.t.Fatal(err)
	}
	return turn
}

// until polls until a condition holds.
func (p *process) until(what string, holds func() bool) {
	p.t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(20 * time.Second); !holds(); {
		select {
		case <-ticker.C:
		case <-deadline:
			p.t.Fatalf("it never comes to it that %s", what)
		}
	}
}

// prompts returns the system prompts of all requests to the model.
func (p *process) prompts() string {
	var list []string
	for _, req := range p.exec.Requests["up"] {
		text := ""
		for _, m := range req.Messages {
			if m.Role == model.RoleSystem {
				text += m.Text()
			}
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}
