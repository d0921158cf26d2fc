package findings_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agentruntime/agentruntime/config/internal/findings"
	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/overlay"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// read returns the tree of a file.
func read(t *testing.T, text string) *tree.Tree {
	t.Helper()
	doc := tree.NewSourceFile("f.yaml", []byte(text))
	if found, ok := yamltree.Parse(&doc.Document, 0, keys.NounOf); !ok || len(found) > 0 {
		t.Fatalf("%q cannot be read: %v", text, found)
	}
	return &tree.Tree{Documents: []*tree.SourceFile{doc}, Root: doc.Root, Origins: overlay.NewOrigins()}
}

func TestLaterFindingsFollowFromEarlierOnes(t *testing.T) {
	t.Parallel()
	unset := diag.New(diag.UnsetVariable, "providers.p.api_key", "x")
	for name, tt := range map[string]struct {
		load, build diag.Diagnostic
		want        bool
	}{
		"the same place":                  {diag.New(diag.InvalidValue, "agents.a.model_id", "x"), diag.New(diag.ModelNotFound, "agents.a.model_id", "y"), true},
		"another place":                   {diag.New(diag.InvalidValue, "agents.a.model_id", "x"), diag.New(diag.InvalidPattern, "agents.b.allowed_tools[0]", "y"), false},
		"below a value":                   {diag.New(diag.InvalidValue, "agents.a.stop", "x"), diag.New(diag.InvalidValue, "agents.a.stop[0]", "y"), true},
		"below a key":                     {diag.New(diag.DuplicateID, "agents.a", "x"), diag.New(diag.InvalidPattern, "agents.a.allowed_tools[0]", "y"), false},
		"around a value":                  {diag.New(diag.InvalidValue, "agents.a.budgets.max_cost", "x"), diag.New(diag.InvalidValue, "agents.a.budgets", "y"), true},
		"the agent around a value":        {diag.New(diag.InvalidValue, "agents.a.budgets.max_cost", "x"), diag.New(diag.NoDescription, "agents.a", "y"), false},
		"the setting around a value":      {diag.New(diag.InvalidValue, "server.keys[0].id", "x"), diag.New(diag.InvalidValue, "server.keys", "y"), true},
		"after a warning":                 {diag.New(diag.NoEffect, "agents.a.model_id", "x"), diag.New(diag.ModelNotFound, "agents.a.model_id", "y"), false},
		"a provider without a variable":   {unset, diag.New(diag.EnvBuild, "providers.p", "y"), true},
		"another provider":                {unset, diag.New(diag.EnvBuild, "providers.q", "y"), false},
		"unused, as the use is invalid":   {diag.New(diag.InvalidValue, "agents.a.model_id", "x"), diag.New(diag.UnusedDefinition, "models.m", "y"), true},
		"unused, and the use is another":  {diag.New(diag.InvalidValue, "agents.a.model_id", "x"), diag.New(diag.UnusedDefinition, "tools.t", "y"), false},
		"unused, as any field is unknown": {diag.New(diag.UnknownField, "agents.a.modl", "x"), diag.New(diag.UnusedDefinition, "tools.t", "y"), true},
		"missing, as a top key is wrong":  {diag.New(diag.UnknownField, "tols", "x"), diag.New(diag.UnmatchedTool, "agents.a.allowed_tools[0]", "y"), true},
		"missing, but it is given":        {diag.New(diag.UnknownField, "tols", "x"), diag.New(diag.AgentNotFound, "agents.a.delegates[0]", "y"), false},
		"no tools, as the list is wrong":  {diag.New(diag.InvalidValue, "agents.a.allowed_tools", "x"), diag.New(diag.NoTools, "agents.a", "y"), true},
		"no tools, in the defaults":       {diag.New(diag.InvalidValue, "defaults.allowed_tools", "x"), diag.New(diag.NoTools, "agents.a", "y"), true},
		"no tools, of another agent":      {diag.New(diag.InvalidValue, "agents.b.allowed_tools", "x"), diag.New(diag.NoTools, "agents.a", "y"), false},
		"widened, after any error":        {diag.New(diag.InvalidValue, "store.dsn", "x"), diag.New(diag.WidenedAccess, "patches.agents.a", "y"), true},
		"near an invalid id":              {diag.New(diag.InvalidID, `models["my model"]`, "x"), diag.New(diag.ModelNotFound, "agents.a.model_id", "y").WithHint("did you mean %q?", "my model"), true},
		"without a path":                  {diag.New(diag.InvalidValue, "agents.a", "x"), diag.New(diag.EnvBuild, "", "y"), false},
	} {
		causes := findings.NewCauses(diag.List{tt.load}, read(t, "agents: {a: {}}"))
		if got := causes.Covers(tt.build); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
	causes := findings.NewCauses(nil, read(t, "agents: {a: {}}"))
	causes.AddFaulty("agents.a")
	if !causes.Covers(diag.New(diag.NoEffect, "agents.a.model_id", "x")) || causes.Covers(diag.New(diag.NoEffect, "agents.a", "x")) {
		t.Error("a faulty value does not cover exactly what is below it")
	}
}

func TestOneDiagnosticPerPlace(t *testing.T) {
	t.Parallel()
	at := diag.Span{File: "f.yaml", Line: 3, Column: 1}
	one := diag.Diagnostic{Code: diag.InvalidValue, Message: "x", Path: "agents.a.stop", Agent: "a", Span: at}
	other := one
	other.Path, other.Agent = "agents.b.stop", "b"
	inherited := one
	inherited.Related = []diag.Related{{Message: "a extends b here"}}
	shared := one
	shared.Agent = ""
	elsewhere := one
	elsewhere.Line = 4
	unplaced := diag.Diagnostic{Code: diag.InvalidValue, Message: "x"}
	for name, tt := range map[string]struct{ list, want diag.List }{
		"an anchored value":     {diag.List{one, other}, diag.List{shared}},
		"of the same agent":     {diag.List{one, one}, diag.List{one}},
		"inherited":             {diag.List{inherited, one}, diag.List{one}},
		"at different places":   {diag.List{one, elsewhere}, diag.List{one, elsewhere}},
		"without any place":     {diag.List{unplaced, unplaced}, diag.List{unplaced, unplaced}},
		"of a list without any": {nil, nil},
		"of different messages": {diag.List{one, {Code: one.Code, Message: "y", Span: at}}, diag.List{one, {Code: one.Code, Message: "y", Span: at}}},
	} {
		if diff := cmp.Diff(tt.want, findings.OnePerPlace(tt.list)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Reducing findings twice gives the same result as once, and adds none.
func TestReductionsAreStable(t *testing.T) {
	t.Parallel()
	codes := []diag.Code{diag.InvalidYAML, diag.InvalidValue, diag.NoEffect}
	rapid.Check(t, func(t *rapid.T) {
		list := make(diag.List, rapid.IntRange(0, 12).Draw(t, "n"))
		for i := range list {
			list[i] = diag.Diagnostic{
				Code: rapid.SampledFrom(codes).Draw(t, "code"), Message: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "message"),
				Span: diag.Span{File: "f", Line: rapid.IntRange(0, 3).Draw(t, "line")},
			}
		}
		once := findings.OnePerPlace(findings.DropConsequent(slices.Clone(list)))
		if diff := cmp.Diff(once, findings.OnePerPlace(findings.DropConsequent(slices.Clone(once)))); diff != "" {
			t.Fatalf("the second time (-want +got):\n%s", diff)
		}
		for _, d := range list {
			unreadable := slices.ContainsFunc(list, func(o diag.Diagnostic) bool { return o.Code == diag.InvalidYAML && o.Span == d.Span })
			kept := slices.ContainsFunc(once, func(o diag.Diagnostic) bool { return o.Code == d.Code && o.Message == d.Message && o.Span == d.Span })
			if want := d.Code == diag.InvalidYAML || d.Line == 0 || !unreadable; kept != want {
				t.Fatalf("%+v is kept: %v", d, kept)
			}
		}
	})
}

const ignoring = `version: 1
agents:
  a: {} # runtime: ignore no-tools it is new
  b: {} # runtime: ignore no-tools,unset-variable there are none
  c: {} # runtime: ignore invalid-value wrong
`

func TestCommentsSuppressWarnings(t *testing.T) {
	t.Parallel()
	files := read(t, ignoring)
	at := func(code diag.Code, line int) diag.Diagnostic {
		d := diag.New(code, "x", "m")
		d.Span = diag.Span{File: "f.yaml", Line: line, Column: 3}
		return d
	}
	list := diag.List{at(diag.NoTools, 3), at(diag.NoRetry, 3), at(diag.InvalidValue, 5)}
	shown, suppressed, used := findings.ApplyIgnores(files, list)
	if diff := cmp.Diff(diag.List{list[1], list[2]}, shown); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]diag.Suppressed{{Diagnostic: list[0], Reason: "it is new"}}, suppressed); diff != "" {
		t.Errorf("suppressed (-want +got):\n%s", diff)
	}
	var faults []string
	for _, isComplete := range []bool{true, false} {
		for _, d := range findings.CheckIgnores(files, list[:2], used, isComplete) {
			faults = append(faults, d.Message)
		}
	}
	for _, d := range findings.CheckIgnores(files, list, used, true) {
		faults = append(faults, d.Message)
	}
	want := []string{
		"no no-tools diagnostic to ignore on this line", "no invalid-value diagnostic to ignore on this line",
		"invalid-value is an error here; only warnings and infos can be ignored",
	}
	if diff := cmp.Diff(want, faults); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	if shown, suppressed, used := findings.ApplyIgnores(read(t, "version: 1"), list); len(shown) != 3 || suppressed != nil || used != nil {
		t.Errorf("without comments it is %v, %v, %v", shown, suppressed, used)
	}
}
