package spec

import (
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/pattern"
)

// The limits of stop conditions.
const (
	maxStopTimeout = 24 * time.Hour
	maxTokenBudget = 100_000_000
	maxStopRegex   = 1024
	maxLoopWindow  = 64
)

// StopType is a kind of stop condition.
type StopType string

// The kinds of stop conditions. A zero or empty setting switches a condition
// off.
const (
	// StopMaxRounds stops after Rounds model calls.
	StopMaxRounds StopType = "max_rounds"
	// StopTimeout stops at the first step that ends later than Timeout after
	// the turn began.
	StopTimeout StopType = "timeout"
	// StopTokenBudget stops once more than MaxTotal tokens were used.
	StopTokenBudget StopType = "token_budget"
	// StopConsecutiveErrors stops after Max steps in a row in which every tool
	// call failed.
	StopConsecutiveErrors StopType = "consecutive_errors"
	// StopOnTool stops when the model asks for the tool ToolName, which is
	// then not executed.
	StopOnTool StopType = "stop_on_tool"
	// StopContentMatch stops when the regular expression Pattern matches an
	// answer.
	StopContentMatch StopType = "content_match"
	// StopLoopDetection stops when the last Window answers are identical.
	StopLoopDetection StopType = "loop_detection"
)

// StopCondition ends a turn after a model answer. Type decides which of the
// other fields apply.
type StopCondition struct {
	Type     StopType  `json:"type" required:"true" enum:"max_rounds|timeout|token_budget|consecutive_errors|stop_on_tool|content_match|loop_detection" doc:"The kind of condition."`
	Rounds   int       `json:"rounds,omitempty" of:"max_rounds" min:"0" doc:"Model calls after which the turn stops."`
	Timeout  *Duration `json:"timeout,omitempty" of:"timeout" alias:"seconds:s" doc:"Time after which the turn stops."`
	MaxTotal int       `json:"max_total,omitempty" of:"token_budget" min:"0" doc:"Input and output tokens after which the turn stops."`
	Max      int       `json:"max,omitempty" of:"consecutive_errors" min:"0" doc:"Failed steps in a row after which the turn stops."`
	ToolName string    `json:"tool_name,omitempty" of:"stop_on_tool" doc:"The tool whose call stops the turn."`
	Pattern  string    `json:"pattern,omitempty" of:"content_match" doc:"A regular expression; an answer that matches stops the turn."`
	Window   int       `json:"window,omitempty" of:"loop_detection" min:"0" doc:"Consecutive identical answers that stop the turn."`
}

// Validate checks the record by itself. Paths are relative to the condition.
func (c *StopCondition) Validate() diag.List {
	var list diag.List
	bound := func(path string, v, limit int) {
		if v < 0 || v > limit {
			list = append(list, diag.New(diag.InvalidValue, path, "%s is %d; it must lie between 0 and %d", path, v, limit))
		}
	}
	switch c.Type {
	case StopMaxRounds:
		bound("rounds", c.Rounds, maxTokenBudget)
	case StopTimeout:
		if c.Timeout != nil && (*c.Timeout < 0 || c.Timeout.Std() > maxStopTimeout) {
			list = append(list, diag.New(diag.InvalidValue, "timeout", "timeout is %s; it must lie between 0 and 24h", c.Timeout))
		}
	case StopTokenBudget:
		bound("max_total", c.MaxTotal, maxTokenBudget)
	case StopConsecutiveErrors:
		bound("max", c.Max, maxTokenBudget)
	case StopOnTool:
	case StopContentMatch:
		list = append(list, checkRegex("pattern", c.Pattern)...)
	case StopLoopDetection:
		bound("window", c.Window, maxLoopWindow)
	case "":
		list = append(list, diag.New(diag.MissingField, "type", "type is required"))
	default:
		list = append(list, diag.New(diag.InvalidValue, "type", "stop condition %q is unknown; allowed are max_rounds, timeout, token_budget, consecutive_errors, stop_on_tool, content_match and loop_detection", clip.Text(string(c.Type))))
	}
	return list
}

func checkRegex(path, source string) diag.List {
	if len(source) > maxStopRegex {
		return diag.List{diag.New(diag.InvalidValue, path, "the regular expression has %d characters; at most %d are allowed", len(source), maxStopRegex)}
	}
	if _, err := pattern.CompileRegexp(source); err != nil {
		return diag.List{diag.New(diag.InvalidValue, path, "the regular expression does not compile: %v", err)}
	}
	return nil
}
