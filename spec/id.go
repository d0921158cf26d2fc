package spec

import (
	"regexp"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
)

// The grammars of ids, as regular expressions that also appear in the JSON
// Schema of the configuration file.
const (
	// IDPattern is the grammar of every id a configuration defines.
	IDPattern = `^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$`
	// ToolIDPattern is the grammar of a tool id: the function names that model vendors accept.
	ToolIDPattern = `^[A-Za-z0-9_-]{1,64}$`
)

// EphemeralAgent is the id of an agent that a run brings along instead of naming a declared one. No
// declared agent has it: the agents that a key may use do not restrict what its runs bring along.
const EphemeralAgent = "ephemeral"

var (
	idGrammar     = regexp.MustCompile(IDPattern)
	toolIDGrammar = regexp.MustCompile(ToolIDPattern)
)

// CheckID checks an id that a configuration defines. The slash is reserved for
// agents of a remote source (source/agent).
func CheckID(path, kind, id string) diag.List {
	if idGrammar.MatchString(id) {
		return nil
	}
	d := diag.New(diag.InvalidID, path, "%s id %q is not allowed", kind, clip.Text(id)).
		WithHint("start with a letter or digit, then letters, digits, '_', '.', ':' or '-', at most 128 in all")
	if kind == "agent" && strings.Contains(id, "/") {
		d = d.WithHint("'/' is reserved for agents of a remote source (source/agent)")
	}
	return diag.List{d}
}

// CheckToolID checks the id of a tool, which model vendors see as the name of
// a function.
func CheckToolID(path, id string) diag.List {
	if toolIDGrammar.MatchString(id) {
		return nil
	}
	return diag.List{diag.New(diag.InvalidID, path, "tool id %q is not allowed", clip.Text(id)).
		WithHint("a tool id is shown to models: 1 to 64 letters, digits, '_' or '-'")}
}
