package backend_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/google/go-cmp/cmp"
)

func TestWhichLevelSatisfiesWhich(t *testing.T) {
	type dimension struct {
		name   string
		set    func(*backend.Profile, backend.Level)
		levels map[backend.Level][]backend.Level // level → what it satisfies, besides itself and none
	}
	for _, d := range []dimension{
		{"cancellation", func(p *backend.Profile, l backend.Level) { p.Cancellation = l }, map[backend.Level][]backend.Level{
			backend.LevelNone: nil, backend.CancelCooperative: nil, backend.CancelRemoteAbort: nil,
			backend.CancelBoth: {backend.CancelCooperative, backend.CancelRemoteAbort},
		}},
		{"continuation", func(p *backend.Profile, l backend.Level) { p.Continuation = l }, map[backend.Level][]backend.Level{
			backend.LevelNone: nil, backend.ContinueInProcess: nil,
			backend.ContinueRemote: {backend.ContinueInProcess},
		}},
		{"decisions", func(p *backend.Profile, l backend.Level) { p.Decisions = l }, map[backend.Level][]backend.Level{
			backend.LevelNone: nil, backend.DecisionsLive: nil, backend.DecisionsDurable: nil,
			backend.DecisionsBoth: {backend.DecisionsLive, backend.DecisionsDurable},
		}},
		{"overrides", func(p *backend.Profile, l backend.Level) { p.Overrides = l }, map[backend.Level][]backend.Level{
			backend.LevelNone: nil, backend.OverrideParams: nil,
			backend.OverrideModel: {backend.OverrideParams},
		}},
		{"frontend_tools", func(p *backend.Profile, l backend.Level) { p.FrontendTools = l }, map[backend.Level][]backend.Level{
			backend.LevelNone: nil, backend.FrontendDescriptors: nil,
			backend.FrontendExecutable: {backend.FrontendDescriptors},
		}},
		{"persistence", func(p *backend.Profile, l backend.Level) { p.Persistence = l }, map[backend.Level][]backend.Level{
			backend.PersistEphemeral:    nil,
			backend.PersistCheckpoint:   {backend.PersistEphemeral},
			backend.PersistCrossSession: {backend.PersistEphemeral, backend.PersistCheckpoint},
		}},
		{"waits", func(p *backend.Profile, l backend.Level) { p.Waits = l }, map[backend.Level][]backend.Level{
			backend.LevelNone: nil, backend.WaitInput: nil, backend.WaitAuth: nil,
			backend.WaitBoth: {backend.WaitInput, backend.WaitAuth},
		}},
		{"transcript", func(p *backend.Profile, l backend.Level) { p.Transcript = l }, map[backend.Level][]backend.Level{
			backend.TranscriptPrompt:      nil,
			backend.TranscriptIncremental: {backend.TranscriptPrompt, backend.TranscriptFull},
			backend.TranscriptFull:        {backend.TranscriptPrompt, backend.TranscriptIncremental},
		}},
		{"output", func(p *backend.Profile, l backend.Level) { p.Output = l }, map[backend.Level][]backend.Level{
			backend.OutputText:      nil,
			backend.OutputArtifacts: {backend.OutputText},
		}},
	} {
		for have, satisfies := range d.levels {
			for required := range d.levels {
				want := have == required || required == backend.LevelNone
				for _, l := range satisfies {
					want = want || l == required
				}
				var p, need backend.Profile
				d.set(&p, have)
				d.set(&need, required)
				got := p.Check((*backend.Requirements)(&need))
				var mismatches []backend.Mismatch
				if !want {
					mismatches = []backend.Mismatch{{Dimension: d.name, Required: required, Actual: have}}
				}
				if diff := cmp.Diff(mismatches, got); diff != "" {
					t.Errorf("%s: %s against %s: %s", d.name, have, required, diff)
				}
			}
		}
	}
}

func TestAllMismatchesAreNamedAtOnce(t *testing.T) {
	weakest := backend.WeakestProfile()
	need := backend.Requirements(backend.LocalProfile())
	got := weakest.Check(&need)
	var names []string
	for _, m := range got {
		names = append(names, m.Dimension)
	}
	want := []string{
		"cancellation", "continuation", "decisions", "overrides", "frontend_tools", "persistence", "waits", "transcript", "output",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	err := &backend.MismatchError{Agent: "far", Mismatches: got[3:4]}
	if want := "the backend of agent far does not support: overrides (needs model_and_params, has none)"; err.Error() != want {
		t.Errorf("the error is %q, want %q", err, want)
	}
}

func TestTheLocalLoopDoesAllAndNothingIsRequiredOfAnyone(t *testing.T) {
	local, weakest := backend.LocalProfile(), backend.WeakestProfile()
	own := backend.Requirements(local)
	if got := local.Check(&own); got != nil {
		t.Errorf("the local loop cannot do what it can: %v", got)
	}
	if got := weakest.Check(&backend.Requirements{}); got != nil {
		t.Errorf("nothing is required, yet %v", got)
	}
	least := backend.Requirements(weakest)
	if got := local.Check(&least); got != nil {
		t.Errorf("the local loop cannot do what the weakest can: %v", got)
	}
}
