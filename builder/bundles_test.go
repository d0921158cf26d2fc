package builder_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/tools"
)

// live is a tool server controlled by a test.
type live struct {
	tools.Tool
	mu      sync.Mutex
	names   []string
	next    []string // what Refresh finds
	err     error
	asked   int
	changed func(context.Context)
	closed  int
}

func (*live) Prefix() string { return "x_" }

func (l *live) Members() ([]tools.Member, diag.List) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.names == nil {
		return nil, diag.List{diag.New(diag.NoCatalog, "", "nobody knows")}
	}
	var members []tools.Member
	for _, name := range l.names {
		members = append(members, tools.Member{ID: name, Tool: plain{}})
	}
	return members, nil
}

func (l *live) Known() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.names != nil
}

func (l *live) Refresh(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	if l.err == nil {
		l.names = l.next
	}
	return l.err
}

func (l *live) OnChange(changed func(context.Context)) { l.changed = changed }

func (l *live) Close() error {
	l.closed++
	return nil
}

// become changes the tools, as a server may at any time.
func (l *live) become(names ...string) {
	l.mu.Lock()
	l.names = names
	l.mu.Unlock()
	l.changed(context.Background())
}

// seen lists the codes and paths of a check's findings.
func seen(b *builder.AgentRuntimeBuilder) string {
	_, list := b.Check(context.Background())
	var out []string
	for _, d := range list {
		out = append(out, string(d.Severity)+" "+string(d.Code)+" "+d.Path)
	}
	return strings.Join(out, ", ")
}

func TestToolsThatAreNotKnownAreAskedFor(t *testing.T) {
	t.Parallel()
	x, y := &live{next: []string{"x_1", "x_2"}}, &live{names: []string{"y_1"}, next: []string{"y_2"}}
	b := demo().WithTool("x", x).WithTool("y", y).WithAgentSpec(agent())
	if got := seen(b); got != "warning no-catalog tools.x" {
		t.Errorf("a check finds %s", got)
	}
	b.LearnTools(t.Context())
	if got := seen(b); got != "" || x.asked != 1 || y.asked != 0 {
		t.Errorf("a check finds %s; asked %d and %d times", got, x.asked, y.asked)
	}
	b.RefreshTools(t.Context())
	rt, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(rt.Revision().Set().Tools.IDs(), " "); got != "y_2 x_1 x_2" {
		t.Errorf("the tools are %s", got)
	}
	if err := rt.Close(); err != nil || x.closed != 1 || y.closed != 1 {
		t.Errorf("closing gives %v; closed %d and %d times", err, x.closed, y.closed)
	}
}

func TestAServerThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	x := &live{err: boom}
	b := demo().WithTool("x", x).WithAgentSpec(agent())
	b.LearnTools(t.Context())
	if got := seen(b); got != "warning no-catalog tools.x" {
		t.Errorf("a check finds %s", got)
	}
	b.RefreshTools(t.Context())
	if got := seen(b); got != "error no-catalog tools.x" {
		t.Errorf("a check finds %s", got)
	}
	_, err := b.Build()
	var failed *builder.BundleError
	if !errors.As(err, &failed) || failed.Bundle != "x" || !errors.Is(err, boom) {
		t.Errorf("the error is %v", err)
	}
	x.err, x.next = nil, []string{"x_1"}
	b.RefreshTools(t.Context())
	if got := seen(b); got != "" {
		t.Errorf("a check finds %s", got)
	}
}

func TestOneNoteForABundleThatNothingUses(t *testing.T) {
	t.Parallel()
	none := agent()
	none.AllowedTools = []string{}
	b := demo().WithTool("x", &live{names: []string{"x_1", "x_2"}}).WithAgentSpec(none)
	if got := seen(b); got != "info unused-definition tools.x" {
		t.Errorf("a check finds %s", got)
	}
}

func TestToolsThatChangeAreANewRevision(t *testing.T) {
	t.Parallel()
	x := &live{names: []string{"x_1"}}
	rt, err := demo().WithTool("x", x).WithTool("wc", plain{}).WithAgentSpec(agent()).Build()
	if err != nil {
		t.Fatal(err)
	}
	before := rt.Revision()
	ids := func() string { return strings.Join(rt.Revision().Set().Tools.IDs(), " ") }
	x.become("x_2", "x_3")
	if ids() != "x_2 x_3 wc" || rt.Revision().Number() != 2 {
		t.Errorf("revision %d has %s", rt.Revision().Number(), ids())
	}
	if got := strings.Join(before.Set().Tools.IDs(), " "); got != "x_1 wc" {
		t.Errorf("the old revision has %s now", got)
	}
	x.become("wc") // taken: nothing changes
	if ids() != "x_2 x_3 wc" {
		t.Errorf("the tools are %s", ids())
	}
	x.become("not an id")
	if ids() != "x_2 x_3 wc" {
		t.Errorf("the tools are %s", ids())
	}
}

func TestToolsThatWereNotListedAtTheStartAreLearntLater(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	x, y, z := &live{err: boom, next: []string{"x_1"}}, &live{names: []string{"y_1"}}, &live{err: boom}
	b := demo().WithTool("x", x).WithTool("y", y).WithTool("z", z).WithAgentSpec(agent())
	b.LearnTools(t.Context())
	rt, err := b.BuildUnchecked()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rt.Close() })
	ids := func() string { return strings.Join(rt.Revision().Set().Tools.IDs(), " ") }
	if err := builder.RelearnTools(t.Context(), rt); !errors.Is(err, boom) || ids() != "y_1" || rt.Revision().Number() != 1 {
		t.Errorf("nobody answers: %v, revision %d has %s", err, rt.Revision().Number(), ids())
	}
	x.err = nil
	if err := builder.RelearnTools(t.Context(), rt); !errors.Is(err, boom) || ids() != "y_1 x_1" {
		t.Errorf("one answers: %v, %s", err, ids())
	}
	z.err, z.next = nil, []string{} // a server without tools
	for range 2 {
		if err := builder.RelearnTools(t.Context(), rt); err != nil || ids() != "y_1 x_1" {
			t.Errorf("all answer: %v, %s", err, ids())
		}
	}
	if x.asked != 3 || y.asked != 0 || z.asked != 4 {
		t.Errorf("asked %d, %d and %d times", x.asked, y.asked, z.asked)
	}
}
