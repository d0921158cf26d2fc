package local

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
)

// step is a phase and an attempted move.
type step struct {
	from callPhase
	move callMove
}

// drawn returns the transitions of the diagram in the comment of callPhase.
func drawn(t *testing.T) map[step]callPhase {
	t.Helper()
	source, err := os.ReadFile("call_phase.go")
	if err != nil {
		t.Fatal(err)
	}
	phase := func(name string) callPhase {
		i := slices.Index(phaseNames[:], strings.ReplaceAll(strings.TrimSpace(name), "inDoubt", "in doubt"))
		if i < 0 {
			t.Fatalf("the diagram has a phase %q", name)
		}
		return callPhase(i)
	}
	arrow, all := regexp.MustCompile(` ─(\w+)─▶ `), make(map[step]callPhase)
	for line := range strings.Lines(string(source)) {
		moves := arrow.FindAllStringSubmatch(line, -1)
		if moves == nil {
			continue
		}
		stops := arrow.Split(strings.TrimPrefix(line, "//"), -1)
		for i, m := range moves {
			move := slices.Index(moveNames[:], m[1])
			if move < 0 {
				t.Fatalf("the diagram has a move %q", m[1])
			}
			for from := range strings.SplitSeq(stops[i], ",") {
				at := step{phase(from), callMove(move)}
				if _, twice := all[at]; twice {
					t.Errorf("the diagram has %s ─%s─▶ twice", at.from, at.move)
				}
				all[at] = phase(stops[i+1])
			}
		}
	}
	return all
}

// Every move from every phase leads where the diagram says, or is rejected and changes nothing.
func TestEveryTransitionOfACallIsInItsDiagram(t *testing.T) {
	t.Parallel()
	diagram := drawn(t)
	if len(diagram) < int(callMoves) {
		t.Fatalf("the diagram has %d transitions", len(diagram))
	}
	for from := range callPhases {
		for move := range callMoves {
			want, allowed := diagram[step{from, move}]
			c := &call{ToolCall: &model.ToolCall{ID: "c"}, phase: from}
			refused := func() (refused any) {
				defer func() { refused = recover() }()
				c.applyMove(move)
				return nil
			}()
			switch {
			case allowed && (refused != nil || c.phase != want):
				t.Errorf("%s ─%s─▶ %s (%v), want %s", from, move, c.phase, refused, want)
			case !allowed && (refused == nil || c.phase != from):
				t.Errorf("%s ─%s─▶ %s, want it to be refused", from, move, c.phase)
			}
		}
	}
}

// A call in a stored state continues in its phase or, if it was about to run, in the preceding
// phase.
func TestAStateHasThePhaseOfACall(t *testing.T) {
	t.Parallel()
	for phase, want := range map[callPhase]struct {
		json string
		then callPhase
	}{
		callAsked:    {`{"id":"c"}`, callAsked},
		callWaiting:  {`{"id":"c","outcome":"suspended","tickets":[null]}`, callWaiting},
		callAllowed:  {`{"id":"c","decided":true}`, callAllowed},
		callInDoubt:  {`{"id":"c","decided":true}`, callAllowed},
		callEntered:  {`{"id":"c","decided":true}`, callAllowed},
		callRunning:  {`{"id":"c","decided":true}`, callAllowed},
		callReturned: {`{"id":"c","outcome":"succeeded","decided":true,"result":{"call_id":"c","name":"t","content":null}}`, callReturned},
		callOver:     {`{"id":"c","outcome":"succeeded","result":{"call_id":"c","name":"t","content":null}}`, callOver},
	} {
		c := &call{ToolCall: &model.ToolCall{ID: "c", Name: "t"}, phase: phase}
		if phase == callWaiting {
			c.interactions = append(c.interactions, nil)
		}
		if phase.hasResult() {
			c.outcome = event.CallSucceeded
		}
		data, err := json.Marshal(c.callState())
		if err != nil || string(data) != want.json {
			t.Errorf("%s: the state has %s (%v), want %s", phase, data, err, want.json)
		}
		var s backend.CallState
		if err := json.Unmarshal(data, &s); err != nil {
			t.Fatal(err)
		}
		again := &call{ToolCall: &model.ToolCall{ID: "c", Name: "t"}}
		if again.restoreState(&s); again.phase != want.then || again.outcomeSoFar() != c.outcomeSoFar() {
			t.Errorf("%s: it goes on as %s with outcome %q", phase, again.phase, again.outcomeSoFar())
		}
	}
}
