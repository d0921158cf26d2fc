package registry_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/tools"
)

// bundle is a bundle whose members are named by a text.
type bundle struct {
	tools.Tool
	names  string
	prefix string
	found  diag.List
	closed int
}

func (b *bundle) Prefix() string { return b.prefix }

func (b *bundle) Members() ([]tools.Member, diag.List) {
	if b.names == "panic" {
		panic("no members")
	}
	var members []tools.Member
	for name := range strings.FieldsSeq(b.names) {
		members = append(members, tools.Member{ID: name, Tool: &closing{owner: b}})
	}
	return members, b.found
}

func (b *bundle) Close() error {
	b.closed++
	return errors.New("it would not end")
}

// closing is a tool that holds something open.
type closing struct {
	owner  *bundle
	closed int
}

func (*closing) Descriptor() tools.Descriptor { return tools.Descriptor{} }

func (*closing) Call(context.Context, *tools.Call) (tools.Result, error) {
	return tools.Result{}, nil
}

func (c *closing) Close() error {
	c.closed++
	if c.owner == nil {
		panic("closing panics")
	}
	return nil
}

func TestTheMembersOfABundleStandInItsPlace(t *testing.T) {
	t.Parallel()
	s := registry.NewSet()
	b := &bundle{names: "x_1 x_2", found: diag.List{diag.New(diag.NoCatalog, "", "some")}}
	for id, tool := range map[string]tools.Tool{"first": &closing{}} {
		if err := s.AddTool(id, tool); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.AddTool("x", b); err != nil {
		t.Fatal(err)
	}
	if err := s.AddTool("last", &closing{}); err != nil {
		t.Fatal(err)
	}
	check := func(s *registry.Set, want string) {
		t.Helper()
		if got := strings.Join(s.Tools.IDs(), " "); got != want {
			t.Errorf("the tools are %s, want %s", got, want)
		}
	}
	check(s, "first x_1 x_2 last")
	if s.Tools.Path("x_2") != "tools.x" || s.Tools.Owner("x_2") != "x" || s.Tools.Owner("last") != "last" {
		t.Errorf("x_2 stands at %s and belongs to %s", s.Tools.Path("x_2"), s.Tools.Owner("x_2"))
	}
	if known, ok := s.Bundles.Get("x"); !ok || len(known.Found) != 1 {
		t.Errorf("the bundle is %v", known)
	}

	c := s.Clone()
	b.names = "x_3 x_1 last x_3"
	err := c.RefreshBundle("x")
	check(c, "first x_3 x_1 last")
	check(s, "first x_1 x_2 last")
	var taken *registry.DuplicateError
	if !errors.As(err, &taken) || taken.ID != "last" || taken.Diagnostic().Path != "tools.x" {
		t.Errorf("the error is %v", err)
	}
	b.names = "last"
	if err := c.RefreshBundle("x"); err == nil {
		t.Error("the id of another tool is taken")
	}
	check(c, "first last")
	if c.Tools.Owner("x_1") != "x_1" {
		t.Error("a tool that is gone still has an owner")
	}

	b.names = "panic"
	if err := c.RefreshBundle("x"); err != nil {
		t.Fatal(err)
	}
	if known, _ := c.Bundles.Get("x"); !known.Found.HasErrors() {
		t.Errorf("a panic is %v", known.Found)
	}
	if err := c.RefreshBundle("y"); err == nil {
		t.Error("there is no y")
	}
	if err := c.AddTool("x", b); !errors.As(err, &taken) {
		t.Errorf("a second bundle gives %v", err)
	}
}

func TestWhatMayBeAToolThatIsNotKnownYet(t *testing.T) {
	t.Parallel()
	s := registry.NewSet()
	for id, b := range map[string]*bundle{"x": {prefix: "mcp__x__"}, "y": {prefix: "mcp__y__", names: "mcp__y__a"}} {
		if err := s.AddTool(id, b); err != nil {
			t.Fatal(err)
		}
	}
	for reference, want := range map[string]bool{
		"mcp__x__a": true, "mcp__x__*": true, "mcp__*": true, "*": true, "mcp__?__a": true, "m[c]p": true,
		"mcp__y__b": false, "mcp__y__*b": false, "mcp__": false, "wc": false, "wc*": false, "": false,
	} {
		if got := s.Expected(reference); got != want {
			t.Errorf("%q: %t, want %t", reference, got, want)
		}
	}
}

func TestEachComponentIsClosedOnce(t *testing.T) {
	t.Parallel()
	s := registry.NewSet()
	b, shared := &bundle{names: "x_1"}, new(closing)
	shared.owner = b
	for id, tool := range map[string]tools.Tool{"x": b, "a": shared, "b": shared, "bad": &closing{}, "plain": struct{ tools.Tool }{}} {
		if err := s.AddTool(id, tool); err != nil {
			t.Fatal(err)
		}
	}
	err := s.Close()
	if b.closed != 1 || shared.closed != 1 {
		t.Errorf("the bundle was closed %d times, the tool %d times", b.closed, shared.closed)
	}
	if err == nil || !strings.Contains(err.Error(), "it would not end") || !strings.Contains(err.Error(), "panic: closing panics") {
		t.Errorf("the error is %v", err)
	}
}
