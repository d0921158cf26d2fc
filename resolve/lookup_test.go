package resolve_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

func retrying(section string) func(*spec.Agent) {
	return func(a *spec.Agent) { a.Sections = spec.Sections{"retry": []byte(section)} }
}

// chain takes what Resolve put around a provider apart.
func chain(t *testing.T, exec model.Executor) (*model.Retrying, *model.Watched) {
	t.Helper()
	retrying, _ := exec.(*model.Retrying)
	if retrying != nil {
		exec = retrying.Executor
	}
	watched, ok := exec.(*model.Watched)
	if !ok {
		t.Fatalf("the provider is in a %T", exec)
	}
	return retrying, watched
}

// Model calls are wrapped for retries only when there is a section that asks for
// some; what the section leaves out has defaults. A silent model is not waited
// for without a section, either, and the breaker counts each call once.
func TestTheRetryWrapper(t *testing.T) {
	t.Parallel()
	policy := func(n, stream int, base, overloaded time.Duration) *model.RetryPolicy {
		return &model.RetryPolicy{MaxRetries: n, MaxStreamRetries: stream, BackoffBase: base, OverloadedBase: overloaded}
	}
	const base, overloaded, idle = 500 * time.Millisecond, 2 * time.Second, time.Minute
	for section, want := range map[string]struct {
		policy *model.RetryPolicy
		idle   time.Duration
	}{
		"":                   {nil, idle},
		`{"max_retries": 0}`: {nil, idle},
		`{"max_retries": 0, "stream_idle_timeout": "90s"}`: {nil, 90 * time.Second},
		`{}`:                 {policy(2, 2, base, overloaded), idle},
		`{"max_retries": 5}`: {policy(5, 2, base, overloaded), idle},
		`{"backoff_base": "0s", "overloaded_backoff_base": "1m30s"}`:                {policy(2, 2, 0, 90*time.Second), idle},
		`{"backoff_base_ms": 250, "overloaded_backoff_base_ms": 0}`:                 {policy(2, 2, 250*time.Millisecond, 0), idle},
		`{"max_retries": 1, "max_stream_retries": 0, "stream_idle_timeout": "10s"}`: {policy(1, 0, base, overloaded), 10 * time.Second},
		`{"max_retries": 100, "stream_idle_timeout_secs": 5}`:                       {policy(100, 2, base, overloaded), 5 * time.Second},
		`{"stream_idle_timeout": "0s", "max_stream_retries": 7}`:                    {policy(2, 7, base, overloaded), 0},
		`{"backoff_base": "1s", "backoff_base_ms": 7}`:                              {policy(2, 2, time.Second, overloaded), idle},
	} {
		set := retrying(section)
		if section == "" {
			set = func(*spec.Agent) {}
		}
		p := plan(t, revision(t, agent("a", set)), "a")
		wrapped, watched := chain(t, p.Local.Model)
		if (wrapped != nil) != (want.policy != nil) || p.Retried != (wrapped != nil) {
			t.Errorf("section %s: wrapped %v, retried %v", section, wrapped != nil, p.Retried)
			continue
		}
		if watched.Idle != want.idle {
			t.Errorf("section %s: a stream may be silent for %s, want %s", section, watched.Idle, want.idle)
		}
		if wrapped == nil {
			if watched.Breaker == nil {
				t.Errorf("section %s: there is no breaker", section)
			}
			continue
		}
		if wrapped.Breaker == nil || watched.Breaker != nil {
			t.Errorf("section %s: the breaker does not count calls, but attempts", section)
		}
		if diff := cmp.Diff(*want.policy, wrapped.Policy); diff != "" {
			t.Errorf("section %s (-want +got):\n%s", section, diff)
		}
	}
}

func TestABadRetrySection(t *testing.T) {
	t.Parallel()
	for section, want := range map[string][]string{
		`{"max_retries": -1}`:                {`invalid-plugin-config: agents.a.sections.retry.max_retries: section "retry": it is -1, but must be 0 or more`},
		`{"max_retries": 1.5}`:               {`invalid-plugin-config: agents.a.sections.retry.max_retries: section "retry": it is a number, but must be an integer`},
		`{"max_retry": 1}`:                   {`invalid-plugin-config: agents.a.sections.retry.max_retry: section "retry": "max_retry" is not a known key (did you mean "max_retries"?)`},
		`{"fallback_models": []}`:            {`invalid-plugin-config: agents.a.sections.retry.fallback_models: section "retry": "fallback_models" is not a known key`},
		`null`:                               {`invalid-plugin-config: agents.a.sections.retry: section "retry": it is null, but must be an object`},
		`{"backoff_base_ms": 9999999999999}`: {`invalid-plugin-config: agents.a.sections.retry.backoff_base_ms: section "retry": it is 9999999999999, but must be 3600000 or less`},
		`{"backoff_base": "soon", "stream_idle_timeout": "-1s"}`: {
			`invalid-plugin-config: agents.a.sections.retry.backoff_base: section "retry": it must be a duration such as 500ms or 2s`,
			`invalid-plugin-config: agents.a.sections.retry.stream_idle_timeout: section "retry": it must be a duration such as 500ms or 2s`,
		},
	} {
		if diff := cmp.Diff(want, said(check(t, revision(t, agent("a", retrying(section)))))); diff != "" {
			t.Errorf("section %s (-want +got):\n%s", section, diff)
		}
	}
}

func TestModelsAndPools(t *testing.T) {
	t.Parallel()
	rev := revision(t, agent("a"), agent("b", func(a *spec.Agent) { a.ModelID = "pool" }), func(d *registry.Draft) {
		d.Pools.Put("pool", &spec.Pool{ID: "pool", Members: []spec.PoolMember{{ModelID: "m"}}})
	})
	p := plan(t, rev, "a")
	if p.Model != "m" || p.Local.Upstream != "up" || p.Local.Pool || p.Remote != nil || p.Revision != rev {
		t.Errorf("the plan of a is %+v", p)
	}
	p = plan(t, rev, "b")
	if p.Model != "pool" || !p.Local.Pool || p.Local.Upstream != "pool" {
		t.Errorf("the plan of b is %+v", p)
	}
}

// Calls are repeated around a pool, whose state is one for all agents of a
// revision that wait equally long for its members.
func TestPoolsLiveWithTheRevision(t *testing.T) {
	t.Parallel()
	uses := func(section string) func(*spec.Agent) {
		return func(a *spec.Agent) {
			a.ModelID = "pool"
			if section != "" {
				retrying(section)(a)
			}
		}
	}
	edits := []draft{
		agent("a", uses("")), agent("b", uses("")), agent("never", uses(`{"max_retries": 0, "backoff_base": "9s"}`)),
		agent("c", uses(`{}`)), agent("d", uses(`{"max_retries": 7}`)), agent("patient", uses(`{"stream_idle_timeout": "5m"}`)),
		func(d *registry.Draft) {
			d.Pools.Put("pool", &spec.Pool{ID: "pool", Members: []spec.PoolMember{{ModelID: "m"}}})
		},
	}
	of := func(rev *registry.Revision, id string) *model.Pool {
		exec := plan(t, rev, id).Local.Model
		if r, ok := exec.(*model.Retrying); ok {
			if r.Breaker != nil {
				t.Errorf("agent %s has a breaker around its pool", id)
			}
			exec = r.Executor
		}
		return exec.(*model.Pool)
	}
	rev := revision(t, edits...)
	for _, id := range []string{"a", "b", "never", "c", "d"} {
		if of(rev, id) != of(rev, "a") {
			t.Errorf("agent %s has a pool of its own", id)
		}
	}
	if of(rev, "patient") == of(rev, "a") {
		t.Error("agents that wait differently long share a pool")
	}
	if !plan(t, rev, "c").Retried || plan(t, rev, "never").Retried {
		t.Error("Retried is wrong in the plans")
	}
	if of(revision(t, edits...), "a") == of(rev, "a") {
		t.Error("two revisions share a pool")
	}
}

// The breaker of a model is one for all that call it, alone or in a pool.
func TestBreakersLiveWithTheRevision(t *testing.T) {
	t.Parallel()
	down := &model.Error{Class: model.Provider, Message: "down"}
	edit := func(d *registry.Draft) {
		d.Providers.Put("p", failing{down})
		d.Pools.Put("pool", &spec.Pool{ID: "pool", Members: []spec.PoolMember{{ModelID: "m"}}})
	}
	edits := []draft{
		agent("plain"), agent("retrying", retrying(`{"max_retries": 1, "backoff_base": "0s"}`)),
		agent("pooled", func(a *spec.Agent) { a.ModelID = "pool" }), edit,
	}
	rev := revision(t, edits...)
	call := func(rev *registry.Revision, id string) (failed error) {
		for _, err := range plan(t, rev, id).Local.Model.Stream(t.Context(), &model.Request{SessionID: "s"}) {
			failed = err
		}
		return failed
	}
	for i, id := range []string{"plain", "retrying", "pooled", "plain", "retrying"} {
		if err := call(rev, id); !errors.Is(err, down) {
			t.Fatalf("call %d, of %s, ended with %v", i, id, err)
		}
	}
	for _, id := range []string{"plain", "retrying", "pooled"} {
		if err := call(rev, id); !errors.Is(err, model.ErrCircuitOpen) {
			t.Errorf("the call of %s ended with %v", id, err)
		}
	}
	if err := call(revision(t, edits...), "plain"); !errors.Is(err, down) {
		t.Errorf("in a new revision the call ended with %v", err)
	}
}

// A model that declares its input is sent nothing else.
func TestAModelIsSentWhatItReads(t *testing.T) {
	t.Parallel()
	rev := revision(t, agent("a"), func(d *registry.Draft) {
		d.Models.Put("m", &spec.Model{ID: "m", ProviderID: "p", UpstreamModel: "up", Modalities: &spec.Modalities{Input: []spec.Modality{spec.ModalityText}}})
	})
	picture := model.Message{Role: model.RoleUser, Parts: []model.Part{{Type: model.PartImage, Blob: &model.Blob{MediaType: "image/png"}}}}
	var failed error
	for _, err := range plan(t, rev, "a").Local.Model.Stream(t.Context(), &model.Request{Messages: []model.Message{picture}}) {
		failed = err
	}
	if e := model.AsError(failed); e.Class != model.InvalidRequest || e.Message != "model m does not read image; it reads text" {
		t.Errorf("the call ended with %v", failed)
	}
}

func TestPoolsThatCannotServe(t *testing.T) {
	t.Parallel()
	pool := func(members ...spec.PoolMember) draft {
		return func(d *registry.Draft) {
			d.Models.Put("orphan", &spec.Model{ID: "orphan", ProviderID: "gone", UpstreamModel: "up"})
			d.Pools.Put("pool", &spec.Pool{ID: "pool", Members: members})
			agent("a", func(a *spec.Agent) { a.ModelID = "pool" })(d)
			agent("b", func(a *spec.Agent) { a.ModelID = "orphan" })(d)
		}
	}
	const orphan = "provider-not-found models.orphan.provider_id"
	for name, tt := range map[string]struct {
		pool draft
		want []string
	}{
		"no member":        {pool(), []string{orphan, "missing-field model_pools.pool.members"}},
		"only spares":      {pool(spec.PoolMember{ModelID: "m", Role: spec.RoleFailoverOnly}), []string{orphan, "invalid-value model_pools.pool.members"}},
		"a missing member": {pool(spec.PoolMember{ModelID: "m"}, spec.PoolMember{ModelID: "gone"}), []string{orphan, "model-not-found model_pools.pool.members[1].model_id"}},
		"an orphan":        {pool(spec.PoolMember{ModelID: "orphan"}, spec.PoolMember{ModelID: "m"}), []string{orphan}},
		"a pool in a pool": {pool(spec.PoolMember{ModelID: "pool"}), []string{orphan, "model-not-found model_pools.pool.members[0].model_id"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rev := revision(t, tt.pool)
			if diff := cmp.Diff(tt.want, places(check(t, rev))); diff != "" {
				t.Errorf("Check (-want +got):\n%s", diff)
			}
			// An unchecked revision refuses the turn, at the latest.
			refused(t, rev, "a")
		})
	}
}

func TestAnAmbiguousModelStopsOnlyWhoNamesIt(t *testing.T) {
	t.Parallel()
	rev := revision(t, agent("a", func(a *spec.Agent) { a.ModelID = "x" }), agent("b"), func(d *registry.Draft) {
		d.Models.Put("x", &spec.Model{ID: "x", ProviderID: "p", UpstreamModel: "up"})
		d.Pools.Put("x", &spec.Pool{ID: "x", Members: []spec.PoolMember{{ModelID: "m"}}})
	})
	if err := refused(t, rev, "a"); !holds[*resolve.AmbiguousModelError](err) {
		t.Errorf("Resolve(a) = %v", err)
	}
	plan(t, rev, "b")
}

// An endpoint-backed agent has a plan without an environment: its peer alone
// knows its model, plugins and tools, so that nothing of those is looked up, and
// no default counts.
func TestRemoteAgents(t *testing.T) {
	t.Parallel()
	rev := revision(t, withBackend(factory{}), func(d *registry.Draft) {
		d.Agents.Put("far", &spec.Agent{ID: "far", Endpoint: &spec.Endpoint{BaseURL: "https://x.example"}})
		d.Defaults = &spec.Defaults{Agent: spec.Agent{
			ModelID: "gone", PluginIDs: []string{"gone"}, Delegates: []string{"gone"}, AllowedTools: spec.Names{"gone"},
			Sections: spec.Sections{"permission": []byte(`{}`)},
		}}
	})
	if list := check(t, rev); len(list) > 0 {
		t.Errorf("Check = %v", list)
	}
	p := plan(t, rev, "far")
	if p.Local != nil || p.Remote != (remote{}) {
		t.Errorf("the plan is %+v", p)
	}
	_, err := resolve.Resolve(t.Context(), rev, "far", resolve.Options{LocalOnly: true})
	if e, ok := errors.AsType[*resolve.RemoteNotLocalError](err); !ok || e.Agent != "far" {
		t.Errorf("a local resolve = %v", err)
	}
}

// Agents of remote sources are found by "source/agent", and by their own id when
// nobody nearer has it.
func TestAgentsAreFoundByTheirNames(t *testing.T) {
	t.Parallel()
	rev := revision(t, withBackend(factory{}), agent("x"), func(d *registry.Draft) {
		for i, name := range []string{"cloud", "edge"} {
			src := &registry.Source{Spec: spec.RemoteSource{Name: name, BaseURL: "https://x.example"}, Position: i, Discovered: true}
			for _, id := range []string{"x", "y"} {
				src.Agents = append(src.Agents, &spec.Agent{ID: name + "/" + id, Registry: name, Endpoint: &spec.Endpoint{BaseURL: "https://x.example"}})
			}
			if err := d.AddSource(src); err != nil {
				t.Fatal(err)
			}
		}
		calls("a", "local/x", "edge/x", "y", "x")(d)
	})
	if list := check(t, rev); len(list) > 0 {
		t.Errorf("Check = %v", list)
	}
	for asked, want := range map[string]string{"x": "x", "local/x": "x", "cloud/x": "cloud/x", "edge/y": "edge/y", "y": "cloud/y"} {
		if got := plan(t, rev, asked).Agent.ID; got != want {
			t.Errorf("Resolve(%s) gives %s, want %s", asked, got, want)
		}
	}
	want := []string{"agent_run_edge_x", "agent_run_local_x", "agent_run_x", "agent_run_y"}
	if diff := cmp.Diff(want, ids(plan(t, rev, "a"))); diff != "" {
		t.Errorf("delegates (-want +got):\n%s", diff)
	}
	for _, asked := range []string{"local/y", "/x", "cloud/", "other/x", "cloud/x/y"} {
		if err := refused(t, rev, asked); !holds[*resolve.AgentNotFoundError](err) {
			t.Errorf("Resolve(%s) = %v", asked, err)
		}
	}
}

// A later publish keeps the pools, and turns in flight keep their revision.
func TestPublishingWhileTurnsRun(t *testing.T) {
	t.Parallel()
	store := registry.NewStore(resolve.Check)
	publish := func(edit draft) (*registry.Revision, error) {
		return store.Publish(t.Context(), func(d *registry.Draft) error { edit(d); return nil })
	}
	first, err := publish(func(d *registry.Draft) {
		base(d)
		d.Pools.Put("pool", &spec.Pool{ID: "pool", Members: []spec.PoolMember{{ModelID: "m"}}})
		agent("a", func(a *spec.Agent) { a.ModelID = "pool" })(d)
	})
	if err != nil {
		t.Fatal(err)
	}
	inFlight := plan(t, first, "a")
	second, err := publish(func(d *registry.Draft) { d.Providers.Put("p", &silent{name: "new"}); agent("b")(d) })
	if err != nil {
		t.Fatal(err)
	}
	if !plan(t, second, "a").Local.Pool {
		t.Error("the pool is gone")
	}
	if _, err := publish(func(d *registry.Draft) { d.Models.Remove("m") }); !holds[*registry.InvalidError](err) || !holds[*resolve.ModelNotFoundError](err) {
		t.Errorf("publishing without the model = %v", err)
	}
	if store.Current() != second {
		t.Error("a draft that does not resolve was published")
	}
	if _, err := publish(func(d *registry.Draft) { d.Agents.Remove("a") }); err != nil {
		t.Fatal(err)
	}
	refused(t, store.Current(), "a")
	if inFlight.Revision != first || plan(t, inFlight.Revision, "a").Local.Model != inFlight.Local.Model {
		t.Error("the turn in flight lost its revision")
	}
}

func ExampleCheck() {
	store := registry.NewStore(resolve.Check)
	_, err := store.Publish(context.Background(), func(d *registry.Draft) error {
		d.Agents.Put("assistant", &spec.Agent{ID: "assistant", ModelID: "default"})
		return nil
	})
	if missing, ok := errors.AsType[*resolve.ModelNotFoundError](err); ok {
		fmt.Println("there is no model", missing.ID)
	}
	// Output: there is no model default
}

// failing is a model that answers with an error.
type failing struct{ err *model.Error }

func (f failing) Stream(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) { yield(model.Event{}, f.err) }
}

// The policy of a pool is what its record says.
func TestThePolicyOfAPool(t *testing.T) {
	t.Parallel()
	quota := &model.Error{Class: model.RateLimited, RetryAfter: 10 * time.Second}
	for name, tt := range map[string]struct {
		first *model.Error
		pool  spec.Pool
		moves bool
	}{
		"on quota":                    {quota, spec.Pool{}, true},
		"not on quota":                {quota, spec.Pool{Switch: &spec.Switch{OnQuota: new(false)}}, false},
		"on a long wait only":         {quota, spec.Pool{Switch: &spec.Switch{QuotaRetryAfter: new(spec.Duration(time.Minute))}}, false},
		"on a wait that is long":      {quota, spec.Pool{Switch: &spec.Switch{QuotaRetryAfter: new(spec.Duration(time.Second))}}, true},
		"on refused credentials":      {&model.Error{Class: model.Unauthorized}, spec.Pool{Switch: &spec.Switch{}}, true},
		"not on refused credentials":  {&model.Error{Class: model.Unauthorized}, spec.Pool{Switch: &spec.Switch{OnPermanent: new(false)}}, false},
		"whatever the routing":        {quota, spec.Pool{Routing: &spec.Routing{Home: "first_healthy"}}, true},
		"an invalid request is final": {&model.Error{Class: model.InvalidRequest}, spec.Pool{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.pool.ID = "pool"
			tt.pool.Members = []spec.PoolMember{{ModelID: "bad"}, {ModelID: "m", Role: spec.RoleFailoverOnly}}
			rev := revision(t, agent("a", func(a *spec.Agent) { a.ModelID = "pool" }), func(d *registry.Draft) {
				d.Providers.Put("bad", failing{tt.first})
				d.Models.Put("bad", &spec.Model{ID: "bad", ProviderID: "bad", UpstreamModel: "up"})
				d.Pools.Put("pool", &tt.pool)
			})
			var failed error
			for _, err := range plan(t, rev, "a").Local.Model.Stream(t.Context(), &model.Request{SessionID: "s"}) {
				failed = err
			}
			if (failed == nil) != tt.moves {
				t.Errorf("the call ended with %v", failed)
			}
		})
	}
}
