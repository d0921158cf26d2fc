package core

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/pattern"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/spec"
)

// stopConditions is the plugin that enforces an agent's stop_conditions, in order. It is created
// once per agent and revision.
type stopConditions struct {
	conditions []condition
	// atEnd are the conditions that check the results of a step's calls.
	atEnd []condition
	// window is the maximum number of answers that the conditions look back at.
	window int
}

var _ plugins.Plugin = (*stopConditions)(nil)

// condition reports whether a turn ends after a model answer, and why.
type condition func(p *plugins.PhaseContext) (event.Termination, bool)

func newStop(code spec.StopType, detail string) event.Termination {
	return event.Termination{Type: event.Stopped, Code: string(code), Detail: detail}
}

// recentKey are the digests of the latest answers, newest last, for loop
// detection.
var recentKey = plugins.NewKey[[]string]("runtime.recent_answers", plugins.ScopeRun)

// NewStopConditions compiles valid conditions; it ignores conditions disabled by a zero or empty
// setting.
func NewStopConditions(list []spec.StopCondition) plugins.Plugin {
	s := &stopConditions{}
	for i := range list {
		c := compileCondition(&list[i])
		if c == nil {
			continue
		}
		s.conditions = append(s.conditions, c)
		switch list[i].Type { //nolint:exhaustive // the others need nothing more
		case spec.StopConsecutiveErrors:
			s.atEnd = append(s.atEnd, c)
		case spec.StopLoopDetection:
			s.window = max(s.window, list[i].Window)
		}
	}
	return s
}

// Descriptor describes the plugin.
func (*stopConditions) Descriptor() plugins.Descriptor {
	return noSections("Ends a turn when one of the agent's stop conditions holds.")
}

// Register adds the checks. Failed calls are checked at the end of a step and again after the
// next answer, because a suspended step ends later.
func (s *stopConditions) Register(r *plugins.Registrar) error {
	if s.window > 0 {
		r.StateKey(recentKey)
	}
	r.Hook(plugins.AfterInference, func(_ context.Context, p *plugins.PhaseContext) error {
		s.rememberAnswer(p)
		stopIf(p, s.conditions)
		return nil
	})
	if len(s.atEnd) > 0 {
		r.Hook(plugins.StepEnd, func(_ context.Context, p *plugins.PhaseContext) error {
			if p.Answer != nil {
				stopIf(p, s.atEnd)
			}
			return nil
		})
	}
	return nil
}

// stopIf stops the turn when a condition holds.
func stopIf(p *plugins.PhaseContext, conditions []condition) {
	for _, holds := range conditions {
		if t, stop := holds(p); stop {
			p.Stop(t)
			return
		}
	}
}

// rememberAnswer stores a digest of the answer's text, if any condition compares answers.
func (s *stopConditions) rememberAnswer(p *plugins.PhaseContext) {
	text := p.Answer.Text()
	if s.window == 0 || text == "" {
		return
	}
	recent := append(slices.Clone(recentKey.Get(p)), digestOf(text))
	recentKey.Set(p, recent[max(0, len(recent)-s.window):])
}

func compileCondition(c *spec.StopCondition) condition {
	switch c.Type {
	case spec.StopMaxRounds:
		return maxRounds(c.Rounds)
	case spec.StopTimeout:
		return workedLonger(c.Timeout)
	case spec.StopTokenBudget:
		return tokenBudget(c.MaxTotal)
	case spec.StopConsecutiveErrors:
		return consecutiveErrors(c.Max)
	case spec.StopOnTool:
		return onTool(c.ToolName)
	case spec.StopContentMatch:
		return contentMatch(c.Pattern)
	case spec.StopLoopDetection:
		return loopDetection(c.Window)
	default:
		return nil
	}
}

// A turn with a final answer ends by itself: limits of time, tokens and failures only stop a turn
// from continuing. Conditions on the answer itself, such as content_match, end the turn under their
// own name either way.

func workedLonger(limit *spec.Duration) condition {
	if limit == nil || *limit == 0 {
		return nil
	}
	return func(p *plugins.PhaseContext) (event.Termination, bool) {
		return newStop(spec.StopTimeout, "after "+limit.String()), p.Answer.HasToolCalls() && p.Stats.Worked(p.Now) > limit.Std()
	}
}

// maxRounds applies to a turn that used up its rounds. An answer without tool calls ends the turn
// by itself, so a text given in the last round counts.
func maxRounds(limit int) condition {
	if limit == 0 {
		return nil
	}
	return func(p *plugins.PhaseContext) (event.Termination, bool) {
		if p.Stats.Steps < limit || !p.Answer.HasToolCalls() {
			return event.Termination{}, false
		}
		return newStop(spec.StopMaxRounds, strconv.Itoa(limit)+" rounds"), true
	}
}

func tokenBudget(limit int) condition {
	if limit == 0 {
		return nil
	}
	return func(p *plugins.PhaseContext) (event.Termination, bool) {
		used := p.Stats.Usage.Total()
		if used <= limit || !p.Answer.HasToolCalls() {
			return event.Termination{}, false
		}
		return newStop(spec.StopTokenBudget, fmt.Sprintf("%d of %d tokens", used, limit)), true
	}
}

func consecutiveErrors(limit int) condition {
	if limit == 0 {
		return nil
	}
	return func(p *plugins.PhaseContext) (event.Termination, bool) {
		if p.Stats.FailedSteps < limit || !p.Answer.HasToolCalls() {
			return event.Termination{}, false
		}
		return newStop(spec.StopConsecutiveErrors, fmt.Sprintf("%d steps in a row failed", p.Stats.FailedSteps)), true
	}
}

func onTool(name string) condition {
	if name == "" {
		return nil
	}
	return func(p *plugins.PhaseContext) (event.Termination, bool) {
		for _, call := range p.Answer.ToolCalls() {
			if call.Name == name {
				return newStop(spec.StopOnTool, name), true
			}
		}
		return event.Termination{}, false
	}
}

func contentMatch(source string) condition {
	re, err := pattern.CompileRegexp(source)
	if source == "" || err != nil {
		return nil
	}
	return func(p *plugins.PhaseContext) (event.Termination, bool) {
		return newStop(spec.StopContentMatch, source), re.MatchString(clip.Head(p.Answer.Text(), re.Longest()))
	}
}

func loopDetection(window int) condition {
	const smallest = 2
	if window < smallest {
		return nil
	}
	return func(p *plugins.PhaseContext) (event.Termination, bool) {
		recent := recentKey.Get(p)
		if p.Answer.Text() == "" || len(recent) < window {
			return event.Termination{}, false
		}
		latest := recent[len(recent)-window:]
		differs := func(other string) bool { return other != latest[window-1] }
		return newStop(spec.StopLoopDetection, fmt.Sprintf("%d identical answers", window)), !slices.ContainsFunc(latest, differs)
	}
}
