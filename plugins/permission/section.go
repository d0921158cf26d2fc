package permission

import (
	"encoding/json"
	"slices"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/plugins"
)

// Behavior is a rule's effect on matching calls.
type Behavior string

// The behaviors.
const (
	// Allow lets a call through.
	Allow Behavior = "allow"
	// Ask lets a call through if a person approves.
	Ask Behavior = "ask"
	// Deny rejects a call; the model reads why, and the turn continues.
	Deny Behavior = "deny"
	// Terminate rejects a call and ends the turn.
	Terminate Behavior = "terminate"
)

var schema = json.RawMessage(`{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "default_behavior": {
      "description": "What happens to calls that no rule fits.",
      "type": "string",
      "enum": ["allow", "ask", "deny"],
      "default": "ask"
    },
    "rules": {
      "description": "A rule that denies wins over all others; among the rest the most specific one counts.",
      "type": "array",
      "items": {
        "type": "object",
        "additionalProperties": false,
        "required": ["tool"],
        "properties": {
          "tool": {
            "description": "The tool, as an id, a glob or a /regular expression/, and optionally its arguments in parentheses: bash(rm *), http(url ~ \"https://*\"), refund(amount > 1000), bash(cmd ~ command:\"rm *\"), read(file ~ path:\"/srv/*\").",
            "type": "string",
            "minLength": 1
          },
          "behavior": {
            "description": "What happens to calls that fit; terminate denies the call and ends the turn.",
            "type": "string",
            "enum": ["allow", "ask", "deny", "terminate"],
            "default": "ask"
          },
          "scope": {
            "description": "The most that a person who is asked may grant: the one call, or the tool for the rest of the session as far as this rule asks.",
            "type": "string",
            "enum": ["once", "session"],
            "default": "session"
          }
        }
      }
    }
  }
}`)

// section is the section as written.
type section struct {
	DefaultBehavior Behavior `json:"default_behavior"`
	Rules           []struct {
		Tool     string   `json:"tool"`
		Behavior Behavior `json:"behavior"`
		Scope    Scope    `json:"scope"`
	} `json:"rules"`
}

// decodeSection compiles the section. A rule that does not compile makes the section invalid: if it
// were omitted, a mistyped denial would let everything through.
func decodeSection(raw json.RawMessage) (*policy, diag.List) {
	s, list := plugins.DecodeInto(section{})(raw)
	if list != nil {
		return nil, list
	}
	p := &policy{fallback: s.DefaultBehavior, entries: make([]entry, 0, len(s.Rules))}
	switch p.fallback {
	case "":
		p.fallback = Ask
	case Allow, Ask, Deny:
	default:
		list = append(list, diag.New(diag.InvalidPluginConfig, "default_behavior", "default_behavior is %q; allowed are allow, ask and deny", p.fallback))
	}
	for i, r := range s.Rules {
		path := diag.Index("rules", i)
		if r.Behavior == "" {
			r.Behavior = Ask
		}
		if !slices.Contains([]Behavior{Allow, Ask, Deny, Terminate}, r.Behavior) {
			list = append(list, diag.New(diag.InvalidPluginConfig, path+".behavior", "behavior is %q; allowed are allow, ask, deny and terminate", r.Behavior))
			continue
		}
		switch r.Scope {
		case "":
			r.Scope = Session
		case Once, Session:
		default:
			list = append(list, diag.New(diag.InvalidPluginConfig, path+".scope", "scope is %q; allowed are once and session", r.Scope))
			continue
		}
		rule, err := ParseRule(r.Tool)
		if err != nil {
			list = append(list, diag.New(diag.InvalidPattern, path+".tool", "%v", err))
			continue
		}
		p.entries = append(p.entries, newEntry(i, r.Tool, rule, r.Behavior, r.Scope))
	}
	if list != nil {
		return nil, list
	}
	return p, nil
}
