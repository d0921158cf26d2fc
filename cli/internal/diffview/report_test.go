package diffview

import (
	"testing"

	"github.com/agentruntime/agentruntime/resolve"
)

// TestChangesAreOneLine covers each kind of change, with and without a reason.
func TestChangesAreOneLine(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]resolve.Change{
		"~ model: small → large":                          {Kind: resolve.Changed, Field: "model", Old: "small", New: "large"},
		"+ tool pay: allow":                               {Kind: resolve.Added, Field: "tool", Subject: "pay", New: "allow"},
		"- plugin log: on":                                {Kind: resolve.Removed, Field: "plugin", Subject: "log", Old: "on"},
		"+ tool pay through clerk, intern: ask":           {Kind: resolve.Added, Field: "tool", Subject: "pay", Through: []string{"clerk", "intern"}, New: "ask"},
		"+ tool pay: allow  (widened)":                    {Kind: resolve.Added, Field: "tool", Subject: "pay", New: "allow", Widened: true},
		"~ tool pay: deny → ask  (widened: rule pay(*))":  {Kind: resolve.Changed, Field: "tool", Subject: "pay", Old: "deny", New: "ask", Widened: true, Reason: "rule pay(*)"},
		"~ tool pay: ask → deny  (rule pay(amount > 10))": {Kind: resolve.Changed, Field: "tool", Subject: "pay", Old: "ask", New: "deny", Reason: "rule pay(amount > 10)"},
	} {
		if got := ChangeText(&c); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestReports covers the last line of a report, and which entries are listed beside the agents.
func TestReports(t *testing.T) {
	t.Parallel()
	model := resolve.Change{Kind: resolve.Changed, Field: "model", Old: "small", New: "large"}
	wider := resolve.Change{Kind: resolve.Added, Field: "tool", Subject: "pay", New: "allow", Widened: true}
	entry := func(path string) resolve.EntryChange { return resolve.EntryChange{Kind: resolve.Changed, Path: path} }
	for _, tt := range []struct {
		name    string
		agents  []resolve.AgentDiff
		entries []resolve.EntryChange
		differs bool
		want    string
	}{
		{name: "nothing", want: "no agent differs\n"},
		{
			name: "an agent", agents: []resolve.AgentDiff{{Agent: "clerk", Kind: resolve.Changed, Changes: []resolve.Change{model}}}, differs: true,
			want: "~ agent clerk\n    ~ model: small → large\n1 agent differs; access is not widened\n",
		},
		{
			name: "wider access", differs: true,
			agents: []resolve.AgentDiff{
				{Agent: "clerk", Kind: resolve.Added, Changes: []resolve.Change{wider}}, {Agent: "intern", Kind: resolve.Removed},
				{Agent: "chief", Kind: resolve.Changed, Changes: []resolve.Change{model, wider}},
			},
			want: "+ agent clerk\n    + tool pay: allow  (widened)\n- agent intern\n~ agent chief\n    ~ model: small → large\n    + tool pay: allow  (widened)\n" +
				"3 agents differ; access is widened for clerk, chief\n",
		},
		{
			name: "entries that change an agent are shown with it", agents: []resolve.AgentDiff{{Agent: "clerk", Kind: resolve.Changed}}, differs: true,
			entries: []resolve.EntryChange{entry("models.large"), entry("patches.agents.clerk"), entry("workflows.daily"), entry("order")},
			want:    "~ agent clerk\n~ workflows.daily\n1 agent differs; access is not widened\n",
		},
		{
			name: "entries alone", entries: []resolve.EntryChange{entry("workflows.daily"), {Kind: resolve.Added, Path: "schedules.hourly"}}, differs: true,
			want: "~ workflows.daily\n+ schedules.hourly\nno agent differs; 2 other entries do\n",
		},
		{
			name: "a change of form alone", entries: []resolve.EntryChange{entry("models.large")},
			want: "~ models.large\nno agent differs; 1 other entry does\n",
		},
		{
			name: "a line break in a name", agents: []resolve.AgentDiff{{Agent: "clerk\n+ agent chief", Kind: resolve.Changed}}, differs: true,
			want: "~ agent clerk + agent chief\n1 agent differs; access is not widened\n",
		},
	} {
		r := Report{DiffReport: resolve.NewDiffReport(tt.agents)}
		r.Entries = tt.entries
		r.Same = r.Same && len(tt.entries) == 0
		if got := r.Text(); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
		if r.Differs() != tt.differs {
			t.Errorf("%s: differs %t", tt.name, r.Differs())
		}
	}
}
