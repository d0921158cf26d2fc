package workflow

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Starts describes for people what starts the workflow.
func (w *Workflow) Starts() []string {
	var list []string
	for i := range w.Schedules {
		s := &w.Schedules[i]
		text := fmt.Sprintf("schedule %s: %s", w.ScheduleID(s), s.Cron)
		if s.TimeZone != "" {
			text += " in " + s.TimeZone
		}
		list = append(list, text+pausedText(s.Paused))
	}
	for i := range w.Events {
		t := &w.Events[i]
		text := fmt.Sprintf("event %s: type %s", w.TriggerID(t), t.Type)
		if t.Source != "" {
			text += " from " + t.Source
		}
		if t.Subject != "" {
			text += " about " + t.Subject
		}
		list = append(list, text+pausedText(t.Paused))
	}
	for i := range w.Webhooks {
		list = append(list, "webhook "+w.WebhookID(&w.Webhooks[i])+pausedText(w.Webhooks[i].Paused))
	}
	return list
}

func pausedText(paused bool) string {
	if paused {
		return " (paused)"
	}
	return ""
}

// Does describes the step's action for people.
func (s *Step) Does() string {
	switch {
	case s.Agent != nil:
		return "agent " + s.Agent.Agent
	case s.Tool != nil && s.Tool.Approval:
		return "tool " + s.Tool.Name + ", after a person approves"
	case s.Tool != nil:
		return "tool " + s.Tool.Name
	default:
		return "nothing"
	}
}

// Text returns the condition for people.
func (c *Condition) Text() string {
	value, found := ParseValue(c.Value)
	if len(found) > 0 {
		return "unreadable"
	}
	left := string(c.Value)
	if value.Ref != nil {
		left = value.Ref.String()
	}
	return left + " = " + string(c.Equals)
}

// DependsOn returns the ids of the steps whose outputs the step refers to, sorted. If one of them
// is skipped, so is the step.
func (s *Step) DependsOn() []string {
	ids := make(map[string]bool)
	for _, value := range s.values() {
		value.EachRef(func(_ string, ref *Ref) {
			if ref.Root == rootSteps {
				ids[ref.Step] = true
			}
		})
	}
	return slices.Sorted(maps.Keys(ids))
}

// values returns all valid values of the step.
func (s *Step) values() []*Value {
	var list []*Value
	add := func(raw []byte) {
		if len(raw) == 0 {
			return
		}
		if v, found := ParseValue(raw); len(found) == 0 {
			list = append(list, v)
		}
	}
	for _, raw := range s.Inputs {
		add(raw)
	}
	if s.Tool != nil {
		for _, raw := range s.Tool.Input {
			add(raw)
		}
	}
	if s.Agent != nil {
		add(s.Agent.Prompt)
		add(s.Agent.SessionKey)
		for i := range s.Agent.Messages {
			add(s.Agent.Messages[i].Text)
		}
	}
	if s.When != nil {
		add(s.When.Value)
	}
	return list
}

// Arrow is a path of data or control from one step to another.
type Arrow struct {
	// From and To are positions of steps. Data is set if To refers to the outputs of
	// From; otherwise it is only the next step.
	From, To int
	Data     bool
}

// Arrows returns the paths through the steps: from each step to the next, and to those that refer
// to it.
func (w *Workflow) Arrows() []Arrow {
	steps := w.AllSteps()
	var list []Arrow
	for i := range steps {
		uses := steps[i].DependsOn()
		for from := range i {
			data := slices.Contains(uses, steps[from].ID)
			if data || from == i-1 {
				list = append(list, Arrow{from, i, data})
			}
		}
	}
	return list
}

// Explain returns the workflow as text for people.
func (w *Workflow) Explain() string {
	var b strings.Builder
	fmt.Fprintf(&b, "workflow %s\n", w.ID)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "  %-12s %s\n", name, value)
		}
	}
	row("about", w.Description)
	for i, start := range w.Starts() {
		name := ""
		if i == 0 {
			name = "starts on"
		}
		fmt.Fprintf(&b, "  %-12s %s\n", name, start)
	}
	tenant, subject := w.Owner()
	row("runs as", tenant+"/"+subject)
	if limit := w.Limit(); limit > 0 {
		row("at once", fmt.Sprintf("%d runs", limit))
	}
	if !w.Waits() {
		row("on wait", "fail")
	}
	steps := w.AllSteps()
	for i := range steps {
		s := &steps[i]
		fmt.Fprintf(&b, "\n%d. %s: %s\n", i+1, s.ID, s.Does())
		s.explainParts(&b)
	}
	return b.String()
}

// explainParts writes the remaining properties of a step.
func (s *Step) explainParts(b *strings.Builder) {
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(b, "   %-9s %s\n", name, value)
		}
	}
	if s.When != nil {
		row("when", s.When.Text())
	}
	row("uses", joinNames(s.DependsOn()))
	if s.Agent != nil {
		row("model", s.Agent.ModelID)
		row("tools", strings.Join(s.Agent.Tools, ", "))
	}
	if s.Schema() != nil {
		row("answers", "with an object")
	}
	row("limit", s.TimeLimit().String())
	if n := s.Attempts(); n > 1 {
		row("attempts", fmt.Sprint(n))
	}
}
