package resolve_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"testing"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// silent is a model that says as little as it may.
type silent struct{ name string }

func (*silent) Stream(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		_ = yield(model.Event{Type: model.EventText, Delta: "."}, nil) && yield(model.Event{Type: model.EventFinish, Reason: model.FinishStop}, nil)
	}
}

// echoTool returns a tool without effect.
func echoTool(description string) tools.Tool {
	type text struct {
		Text string `json:"text"`
	}
	return &tools.Func[text, string]{
		Description: description, Effect: tools.Read,
		Run: func(_ context.Context, in text) (string, error) { return in.Text, nil },
	}
}

// rawTool is a tool with a schema as it is written.
type rawTool string

func (r rawTool) Descriptor() tools.Descriptor { return tools.Descriptor{Parameters: []byte(r)} }

func (rawTool) Call(context.Context, *tools.Call) (tools.Result, error) { return tools.Result{}, nil }

// panicking panics in whatever is called.
type panicking struct{}

func (panicking) Descriptor() plugins.Descriptor    { panic("descriptor") }
func (panicking) Register(*plugins.Registrar) error { panic("register") }

// panickingTool panics when it describes itself.
type panickingTool struct{ rawTool }

func (panickingTool) Descriptor() tools.Descriptor { panic("descriptor") }

// made is a plugin made of functions.
type made struct {
	sections []plugins.Section
	register func(*plugins.Registrar) error
}

func (p made) Descriptor() plugins.Descriptor { return plugins.Descriptor{Sections: p.sections} }

func (p made) Register(r *plugins.Registrar) error {
	if p.register == nil {
		return nil
	}
	return p.register(r)
}

// claims returns a plugin that claims a section with a schema.
func claims(key, schema string) made {
	return made{sections: []plugins.Section{{Key: key, Schema: []byte(schema)}}}
}

// brings returns a plugin that registers tools.
func brings(ids ...string) made {
	return made{register: func(r *plugins.Registrar) error {
		for _, id := range ids {
			r.Tool(id, echoTool("A tool of a plugin."))
		}
		return nil
	}}
}

// factory is a kind of backend made of functions.
type factory struct {
	validate func(*spec.Endpoint) diag.List
	make     func(*spec.Endpoint) (backend.Backend, error)
}

func (factory) Kind() string { return "a2a" }

func (f factory) Validate(e *spec.Endpoint) diag.List {
	if f.validate == nil {
		return nil
	}
	return f.validate(e)
}

func (f factory) New(e *spec.Endpoint) (backend.Backend, error) {
	if f.make == nil {
		return remote{}, nil
	}
	return f.make(e)
}

// remote is a backend that does nothing.
type remote struct{}

func (remote) Profile() backend.Profile { return backend.WeakestProfile() }

func (remote) Execute(context.Context, *backend.Job, backend.Host) (*backend.Result, error) {
	return &backend.Result{}, nil
}

// draft is an edit of a draft.
type draft = func(*registry.Draft)

// base adds the provider p and its model m.
func base(d *registry.Draft) {
	d.Providers.Put("p", &silent{name: "p"})
	d.Models.Put("m", &spec.Model{ID: "m", ProviderID: "p", UpstreamModel: "up"})
}

// agent adds an agent that runs on m, as changed.
func agent(id string, change ...func(*spec.Agent)) draft {
	a := &spec.Agent{ID: id, Description: "Agent " + id + ".", ModelID: "m"}
	for _, c := range change {
		c(a)
	}
	return func(d *registry.Draft) { d.Agents.Put(id, a) }
}

func tool(ids ...string) draft {
	return func(d *registry.Draft) {
		for _, id := range ids {
			d.Tools.Put(id, echoTool("A global tool."))
		}
	}
}

func plugin(id string, p plugins.Plugin) draft {
	return func(d *registry.Draft) { d.Plugins.Put(id, p) }
}

func withBackend(f factory) draft {
	return func(d *registry.Draft) { d.Backends.Put("a2a", f) }
}

// far adds an agent that lives at an endpoint.
func far(id string) draft {
	return func(d *registry.Draft) {
		d.Agents.Put(id, &spec.Agent{ID: id, Endpoint: &spec.Endpoint{BaseURL: "https://x.example"}})
	}
}

// revision publishes base and what else is given, unchecked.
func revision(t testing.TB, edits ...draft) *registry.Revision {
	t.Helper()
	rev, err := registry.NewStore(nil).PublishUnchecked(context.Background(), func(d *registry.Draft) error {
		base(d)
		for _, edit := range edits {
			edit(d)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rev
}

// check returns what a dry run finds, but notes. It checks that the error and
// the diagnostics agree.
func check(t testing.TB, rev *registry.Revision) diag.List {
	t.Helper()
	list, err := resolve.Check(context.Background(), rev)
	if n := len(diag.FromError(err)); n != list.Count(diag.Error) {
		t.Errorf("%d errors are joined, %d are in the list", n, list.Count(diag.Error))
	}
	var out diag.List
	for _, d := range list {
		if d.Severity != diag.Note {
			out = append(out, d)
		}
	}
	return out
}

// plan resolves an agent that must resolve.
func plan(t testing.TB, rev *registry.Revision, id string) *resolve.Plan {
	t.Helper()
	p, err := resolve.Resolve(context.Background(), rev, id, resolve.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// refused resolves an agent that must not resolve.
func refused(t testing.TB, rev *registry.Revision, id string) error {
	t.Helper()
	p, err := resolve.Resolve(context.Background(), rev, id, resolve.Options{})
	if err == nil || p != nil {
		t.Fatalf("Resolve(%s) = %+v, %v; want an error alone", id, p, err)
	}
	return err
}

// places writes each diagnostic as its code and path.
func places(list diag.List) []string {
	var out []string
	for _, d := range list {
		out = append(out, string(d.Code)+" "+d.Path)
	}
	return out
}

// said writes each diagnostic with its message and hint.
func said(list diag.List) []string {
	var out []string
	for _, d := range list {
		out = append(out, d.Error())
	}
	return out
}

// ids are the tools of a plan.
func ids(p *resolve.Plan) []string {
	out := []string{}
	for _, e := range p.Local.Tools.Entries() {
		out = append(out, e.ID)
	}
	return out
}

// offered are the tools that the model of a plan is told of.
func offered(p *resolve.Plan) []string {
	out := []string{}
	for _, d := range p.Local.Offered {
		out = append(out, d.Name)
	}
	return out
}

func holds[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// gated returns a plugin with a gate that can tell of a tool before a call.
func gated(verdict func(toolID string) plugins.Verdict) made {
	return made{register: func(r *plugins.Registrar) error {
		r.ToolGate(gate{verdict: verdict})
		return nil
	}}
}

type gate struct {
	verdict func(string) plugins.Verdict
}

func (gate) Check(context.Context, *plugins.PhaseContext) (plugins.Decision, error) {
	return plugins.Decision{}, nil
}

func (g gate) Verdict(toolID string) plugins.Verdict { return g.verdict(toolID) }

// decodeWarning finds nothing but a warning.
func decodeWarning(json.RawMessage) (any, diag.List) {
	return nil, diag.List{diag.New(diag.UnmatchedPattern, "rules[0]", "shadowed")}
}
