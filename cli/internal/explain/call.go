package explain

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/resolve"
)

// Call is the call of a tool to explain.
type Call struct {
	Tool      string
	Arguments json.RawMessage
}

// ParseCall reads a tool's id and, after a space, the arguments as JSON; they default to an empty
// object.
func ParseCall(text string) (*Call, error) {
	trimmed := strings.TrimSpace(text)
	tool, arguments := trimmed, ""
	if i := strings.IndexFunc(trimmed, unicode.IsSpace); i >= 0 {
		tool, arguments = trimmed[:i], strings.TrimSpace(trimmed[i:])
	}
	if tool == "" || strings.ContainsAny(tool, `{}"`) {
		return nil, fmt.Errorf(`--call is a tool and its arguments as JSON, as in --call 'wc {"text":"x"}'; it is %q`, text)
	}
	if arguments == "" {
		arguments = "{}"
	}
	var v any
	if err := json.Unmarshal([]byte(arguments), &v); err != nil {
		at := strings.LastIndex(text, arguments)
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at += max(0, int(syntax.Offset)-1)
		}
		return nil, fmt.Errorf("--call: the arguments are not JSON: character %d: %w", utf8.RuneCountInString(text[:at])+1, err)
	}
	return &Call{Tool: tool, Arguments: json.RawMessage(arguments)}, nil
}

// CallAnswer describes the outcome of a call.
type CallAnswer struct {
	ToolAnswer
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Decision is one of: allow, ask, deny, terminate, unavailable.
	Decision string `json:"decision,omitempty"`
	// Conditions say why the deciding rule matches the arguments.
	Conditions []string `json:"conditions,omitempty"`
	// Problem describes how the arguments violate the tool's schema.
	Problem string `json:"arguments_problem,omitempty"`
	// Undecided are the plugins whose gates decide only when a call is made.
	Undecided []string `json:"undecided_plugins,omitempty"`
}

// NewCallAnswer describes the outcome of a call by the agent that e explains.
func NewCallAnswer(where Positions, e *resolve.Explanation, call *Call) *CallAnswer {
	a := &CallAnswer{ToolAnswer: *NewToolAnswer(where, e, call.Tool), Arguments: call.Arguments}
	if e.Tool(call.Tool) == nil {
		return a
	}
	v := e.Call(call.Tool, call.Arguments)
	a.Problem, a.Undecided, a.Conditions = v.Problem, v.Silent, v.Gate.Conditions
	a.Gate, a.GatePath, a.GatePlace, a.Access = "", "", "", v.Gate.Access.String()
	if v.Gate.Rule != "" {
		a.gate(where, e, &v.Gate)
	}
	a.Decision = v.Decision()
	return a
}

// Text returns the answer for people.
func (a *CallAnswer) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", a.Decision, a.sentence())
	a.rows(&b)
	for _, condition := range a.Conditions {
		terminal.WriteRow(&b, "because", condition, "", "")
	}
	switch {
	case a.Decision == resolve.CallUnavailable:
	case a.Problem == "":
		terminal.WriteRow(&b, "schema", "the arguments fit", "", "")
	default:
		terminal.WriteRow(&b, "schema", "the call is not executed: "+a.Problem, "", "")
	}
	if len(a.Undecided) > 0 {
		terminal.WriteRow(&b, "also", "the gates of "+strings.Join(a.Undecided, ", ")+" decide when the call is made", "", "")
	}
	return b.String()
}

// sentence describes the decision in words.
func (a *CallAnswer) sentence() string {
	subject := "agent " + a.Agent
	switch a.Decision {
	case resolve.CallUnavailable:
		return subject + " does not have tool " + a.Tool + ": " + a.because()
	case plugins.AccessAllow.String():
		return subject + " may call tool " + a.Tool + " like this"
	case plugins.AccessAsk.String():
		return subject + " may call tool " + a.Tool + " like this when a person approves it"
	case plugins.AccessDeny.String():
		return subject + " may not call tool " + a.Tool + " like this; the model is told so"
	default:
		return subject + " may not call tool " + a.Tool + " like this; the attempt ends the turn"
	}
}
