package bounds

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/cron"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/spec/workflow"
)

func textInputs() map[string]input {
	return map[string]input{
		"system prompts with references": {bombs: map[string]bomb{
			"a large variable": {"more than 4194304 bytes", func(t *testing.T) error {
				return fillPrompt(t, `{"type":"string"}`, `{"v":"`+strings.Repeat("x", size)+`"}`)
			}},
			"a variable that is much to read": {"", func(t *testing.T) error {
				return fillPrompt(t, `{}`, `{"v":[`+strings.Repeat(" ", size)+`]}`)
			}},
			"a default that is much to read": {"", func(t *testing.T) error {
				return fillPrompt(t, `{"default":"x","description":"`+strings.Repeat("x", size/3)+`"}`, `{}`)
			}},
			"unknown variables": {"is not declared", func(t *testing.T) error {
				return fillPrompt(t, `{}`, repeat("{", `"v%d":1`, ",", "}"))
			}},
		}},
		"texts and values of workflows": {bombs: map[string]bomb{
			"a text":      {"stand for more than", func(*testing.T) error { return evaluate(`"` + strings.Repeat("x${{input.x}}", size/13) + `"`) }},
			"a list":      {"stand for more than", func(*testing.T) error { return evaluate(repeat("[", `"${{input.x}}"`, ",", "]")) }},
			"nested":      {"", func(*testing.T) error { return evaluate(nest("[", `"x"`, "]", 5000)) }},
			"a long path": {"does not exist", func(*testing.T) error { return evaluate(`"${{input` + strings.Repeat(".x", size/2) + `}}"`) }},
			"plain":       {"", func(*testing.T) error { return evaluate(`"` + strings.Repeat("$${{", size/4) + `"`) }},
			"unclosed":    {"lacks its closing", func(*testing.T) error { return evaluate(`"` + strings.Repeat("${{input.x}", size/11) + `"`) }},
		}, tests: []string{"spec/workflow TestReferencesDoNotGrowWithoutEnd"}},
		"`when` of workflows": {bombs: map[string]bomb{
			"a large exponent": {"", func(*testing.T) error { return holds(`1e999999999`, `1e999999998`) }},
			"long numbers":     {"", func(*testing.T) error { return holds(strings.Repeat("9", size), strings.Repeat("9", size-1)+"8") }},
			"nested lists":     {"", func(*testing.T) error { return holds(nest("[", "1", "]", 5000), nest("[", "2", "]", 5000)) }},
			"large texts": {"", func(*testing.T) error {
				return holds(`"`+strings.Repeat("x", size)+`"`, `"`+strings.Repeat("x", size)+`"`)
			}},
			"references": {"stand for more than", func(*testing.T) error { return holds(repeat("[", `"${{input.x}}"`, ",", "]"), `1`) }},
		}},
		"cron expressions and time zones": {bombs: map[string]bomb{
			"a long list":           {"at most 1024", func(*testing.T) error { return nextTimes(repeat("", "%d", ",", " * * * *"), "") }},
			"a long zone":           {"at most 1024", func(*testing.T) error { return nextTimes("@daily", strings.Repeat("x/", size/2)) }},
			"all values":            {"", func(*testing.T) error { return nextTimes(list(60)+" "+list(24)+" 1-31 1-12 0-7", "America/New_York") }},
			"never":                 {"", func(*testing.T) error { return nextTimes("0 0 31 2 *", "Pacific/Apia") }},
			"never, every hour":     {"", func(*testing.T) error { return nextTimes("* * 30,31 2 *", "Pacific/Apia") }},
			"every eight years":     {"", func(*testing.T) error { return nextTimes("59 23 29 2 *", "Asia/Kathmandu") }},
			"a step without end":    {`cron "0 9 * * 1-7/9223372036854775807"`, func(*testing.T) error { return nextTimes("0 9 * * 1-7/9223372036854775807", "") }},
			"a duration of a trice": {"whole seconds", func(*testing.T) error { return nextTimes("@every 1ns", "") }},
		}, tests: []string{"server/workflows TestSchedulesOfTenantsAreHeldToMinEvery"}},
	}
}

// fillPrompt fills a prompt of 64 KB that refers to one variable.
func fillPrompt(t *testing.T, declared, values string) error {
	revision, err := publish(t, &spec.Agent{
		SystemPrompt: spec.Prompt(strings.Repeat("${turn.v}", size/9)),
		Variables:    []byte(`{"type":"object","properties":{"v":` + declared + `}}`),
	}, nil)
	if err != nil {
		return err
	}
	return fill(t, revision, values)
}

var scope = workflow.Scope{Input: map[string]any{"x": strings.Repeat("x", size)}}

func evaluate(raw string) error {
	s := scope
	_, err := s.EvaluateRaw(json.RawMessage(raw))
	return err
}

func holds(value, equals string) error {
	s := scope
	_, err := (&workflow.Condition{Value: []byte(value), Equals: []byte(equals)}).Holds(&s)
	return err
}

// list returns the numbers below n as a cron list.
func list(n int) string {
	text := repeat("", "%d", ",", "")
	return strings.Join(strings.Split(text, ",")[:n], ",")
}

// nextTimes computes the times that the clock and the schedule checks use.
func nextTimes(expression, zone string) error {
	times, err := cron.Parse(expression, zone)
	if err != nil {
		return err
	}
	times.Never()
	times.ShortestGap()
	at := time.Date(2026, time.November, 28, 0, 0, 0, 0, time.UTC)
	for range 1000 {
		if at = times.Next(at); at.IsZero() {
			break
		}
	}
	return nil
}
