package evals

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/service/evalcase"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// unstubbedError reports a call that a case neither stubs nor allows. Nothing was called.
type unstubbedError struct {
	Tool   string
	Effect tools.Effect
	// Reason explains why an entry of the case does not answer; empty if there is no entry.
	Reason string
}

// Error names the tool and how to stub it.
func (e *unstubbedError) Error() string {
	if e.Reason != "" {
		return fmt.Sprintf("tool %s: %s", e.Tool, e.Reason)
	}
	return fmt.Sprintf("tool %s (effect %s) is neither stubbed nor real: write tools: {%s: {result: …}}, or {real: true}", e.Tool, e.Effect, e.Tool)
}

// stubs answers tool calls in one run of a case.
type stubs struct {
	*compiled
	uses    map[string]*ToolUse
	set     *registry.Set
	replies *toolReplies
	// fail ends the run with an error of the case.
	fail func(error)

	// seen holds the calls of the turn, and before counts the calls of earlier turns, by the names
	// in uses.
	seen   *transcript
	before map[string]int
}

// beginTurn switches the stubs to a turn with a transcript.
func (s *stubs) beginTurn(seen *transcript) {
	if s.seen != nil {
		for _, a := range s.seen.asked {
			if name, _ := s.findUse(a.result.Tool); a.result.ran {
				s.before[name]++
			}
		}
	}
	s.seen = seen
}

// intercept is a toolset.Interceptor.
func (s *stubs) intercept(ctx context.Context, entry *toolset.Entry, call *tools.Call) (tools.Result, error) {
	name, use := s.findUse(entry.ID)
	s.seen.noteRun(call)
	if use == nil {
		if s.isHarmless(entry) {
			return entry.Tool.Call(ctx, call)
		}
		return s.refuse(entry, "")
	}
	switch {
	case use.Real && name != entry.ID && entry.Descriptor.EffectClass() == tools.Once:
		return s.refuse(entry, fmt.Sprintf("real: true of the glob %q does not let a tool with effect once run: name the tool", name))
	case use.Real:
		return entry.Tool.Call(ctx, call)
	case use.Error != "":
		return tools.ErrorResult(use.Error), nil
	case use.Results != nil:
		n := s.before[name] + s.seen.countBefore(call, func(tool string) bool {
			of, _ := s.findUse(tool)
			return of == name
		})
		if n >= len(use.Results) {
			return s.refuse(entry, fmt.Sprintf("results has %d results, and this is call %d", len(use.Results), n+1))
		}
		return resultOf(use.Results[n]), nil
	case use.ByArguments != nil:
		for i := range use.ByArguments {
			rule := s.rules[diag.Join(diag.Key("tools", name), diag.Index("by_arguments", i)+".when")]
			if !rule.Matches(entry.ID, call.Arguments) {
				continue
			}
			if text := use.ByArguments[i].Error; text != "" {
				return tools.ErrorResult(text), nil
			}
			return resultOf(use.ByArguments[i].Result), nil
		}
		return s.refuse(entry, "by_arguments has no result for "+describeValue(call.Arguments))
	case use.Replay:
		reply, ok := s.replies.take(entry.ID, call.Arguments)
		if !ok {
			return s.refuse(entry, "no recorded result for "+describeValue(call.Arguments))
		}
		if reply.IsError {
			return tools.ErrorResult(reply.Result), nil
		}
		return tools.TextResult(reply.Result), nil
	default:
		return resultOf(use.Result), nil
	}
}

// findUse returns the entry for a tool: the one with its name, or else the longest matching glob.
func (s *stubs) findUse(tool string) (name string, use *ToolUse) {
	if use := s.uses[tool]; use != nil {
		return tool, use
	}
	for glob, one := range s.uses {
		longer := len(glob) > len(name) || len(glob) == len(name) && glob < name
		if longer && s.globs[diag.Key("tools", glob)].Match(tool) {
			name, use = glob, one
		}
	}
	return name, use
}

// isHarmless reports whether a tool may run without an entry in the case: it only reads, like tools
// that ask a question, or leads to an agent of this runtime, whose own calls are stubbed too.
func (s *stubs) isHarmless(entry *toolset.Entry) bool {
	switch entry.Source.Kind {
	case toolset.SourceHandoff:
		return true
	case toolset.SourceDelegate:
		agent, ok := s.set.Agent(entry.Source.Name)
		return ok && agent.Local() && !agent.Hosted()
	}
	return entry.Descriptor.EffectClass() == tools.Read
}

func (s *stubs) refuse(entry *toolset.Entry, reason string) (tools.Result, error) {
	err := &unstubbedError{Tool: entry.ID, Effect: entry.Descriptor.EffectClass(), Reason: reason}
	s.fail(err)
	return tools.Result{}, err
}

// resultOf returns a result: a JSON string as text, another value as data.
func resultOf(raw json.RawMessage) tools.Result {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return tools.TextResult(text)
	}
	return tools.Result{Data: raw}
}

// toolReplies holds the unused recorded results.
type toolReplies struct {
	mu   sync.Mutex
	left map[string][]evalcase.ToolReply
}

func newToolReplies(list []evalcase.ToolReply) *toolReplies {
	r := &toolReplies{left: make(map[string][]evalcase.ToolReply)}
	for _, one := range list {
		key := replyKey(one.Tool, one.Arguments)
		r.left[key] = append(r.left[key], one)
	}
	return r
}

// take returns the next recorded result of a call with the same arguments.
func (r *toolReplies) take(tool string, arguments json.RawMessage) (evalcase.ToolReply, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := replyKey(tool, arguments)
	list := r.left[key]
	if len(list) == 0 {
		return evalcase.ToolReply{}, false
	}
	r.left[key] = list[1:]
	return list[0], true
}

// replyKey identifies calls with equal arguments.
func replyKey(tool string, arguments json.RawMessage) string {
	var value any
	if json.Unmarshal(arguments, &value) != nil {
		return tool + "\x00" + strings.TrimSpace(string(arguments))
	}
	canonical, _ := json.Marshal(value) // decoded values can be encoded
	return tool + "\x00" + string(canonical)
}
