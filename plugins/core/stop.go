package core

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/spec"
)

// StopConditions is the plugin that enforces an agent's stop_conditions, in
// their order. It is made once per agent and revision.
type StopConditions struct {
	conditions []condition
	// window is how many answers the conditions look back at, at most.
	window int
}

var _ plugins.Plugin = (*StopConditions)(nil)

// condition looks at a turn after a model answer and says whether it ends.
type condition func(p *plugins.PhaseContext) (event.Termination, bool)

// recentTexts are the latest answers, newest last, for loop detection.
var recentTexts = plugins.NewKey[[]string]("runtime.recent_texts", plugins.ScopeRun)

// NewStopConditions compiles conditions that are valid by themselves; one that
// is switched off by a zero or empty setting is left out.
func NewStopConditions(list []spec.StopCondition) *StopConditions {
	s := &StopConditions{}
	for i := range list {
		if c := compile(&list[i]); c != nil {
			s.conditions = append(s.conditions, c)
			if list[i].Type == spec.StopLoopDetection {
				s.window = max(s.window, list[i].Window)
			}
		}
	}
	return s
}

// Descriptor describes the plugin.
func (*StopConditions) Descriptor() plugins.Descriptor {
	return noSections("Ends a turn when one of the agent's stop conditions holds.")
}

// Register adds the check.
func (s *StopConditions) Register(r *plugins.Registrar) error {
	r.StateKey(recentTexts)
	r.Hook(plugins.AfterInference, func(_ context.Context, p *plugins.PhaseContext) error {
		s.remember(p)
		for _, holds := range s.conditions {
			if t, stop := holds(p); stop {
				p.Stop(t)
				return nil
			}
		}
		return nil
	})
	return nil
}

// remember keeps the text of the answer, if any condition looks back at it.
func (s *StopConditions) remember(p *plugins.PhaseContext) {
	text := p.Answer.Text()
	if s.window == 0 || text == "" {
		return
	}
	recent := append(slices.Clone(recentTexts.Get(p)), text)
	recentTexts.Set(p, recent[max(0, len(recent)-s.window):])
}

func compile(c *spec.StopCondition) condition {
	switch c.Type {
	case spec.StopMaxRounds:
		return maxRounds(c.Rounds)
	case spec.StopTimeout:
		return timeout(c.Timeout)
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

func timeout(limit *spec.Duration) condition {
	if limit == nil || *limit == 0 {
		return nil
	}
	return func(p *plugins.PhaseContext) (event.Termination, bool) {
		return stopped(spec.StopTimeout, "after "+limit.String()), p.Now.Sub(p.Stats.Started) > limit.Std()
	}
}

func tokenBudget(limit int) condition {
	if limit == 0 {
		return nil
	}
	return func(p *plugins.PhaseContext) (event.Termination, bool) {
		used := p.Stats.Usage.Total()
		if used <= limit {
			return event.Termination{}, false
		}
		return stopped(spec.StopTokenBudget, fmt.Sprintf("%d of %d tokens", used, limit)), true
	}
}

func consecutiveErrors(limit int) condition {
	if limit == 0 {
		return nil
	}
	return func(p *plugins.PhaseContext) (event.Termination, bool) {
		if p.Stats.FailedSteps < limit {
			return event.Termination{}, false
		}
		return stopped(spec.StopConsecutiveErrors, fmt.Sprintf("%d steps in a row failed", p.Stats.FailedSteps)), true
	}
}

func onTool(name string) condition {
	if name == "" {
		return nil
	}
	return func(p *plugins.PhaseContext) (event.Termination, bool) {
		for _, call := range p.Answer.ToolCalls() {
			if call.Name == name {
				return stopped(spec.StopOnTool, name), true
			}
		}
		return event.Termination{}, false
	}
}

func contentMatch(pattern string) condition {
	re, err := regexp.Compile(pattern)
	if pattern == "" || err != nil {
		return nil
	}
	return func(p *plugins.PhaseContext) (event.Termination, bool) {
		return stopped(spec.StopContentMatch, pattern), re.MatchString(p.Answer.Text())
	}
}

func loopDetection(window int) condition {
	const smallest = 2
	if window < smallest {
		return nil
	}
	return func(p *plugins.PhaseContext) (event.Termination, bool) {
		text := p.Answer.Text()
		recent := recentTexts.Get(p)
		if text == "" || len(recent) < window {
			return event.Termination{}, false
		}
		differs := func(other string) bool { return other != text }
		return stopped(spec.StopLoopDetection, fmt.Sprintf("%d identical answers", window)),
			!slices.ContainsFunc(recent[len(recent)-window:], differs)
	}
}
