package question

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/event/interaction"
)

// Call describes a call that needs a person's permission. Its texts may be empty.
type Call struct {
	// GatePath and GatePlace locate the rule that asks; Conditions are its conditions.
	GatePath, GatePlace string
	Conditions          []string
	// Tool describes the tool, and ToolPath and ToolPlace locate it.
	Tool, ToolPath, ToolPlace string
	// Action is the call's effect according to the tool's settings.
	Action string
}

// ExplainCall describes a call using the configuration.
type ExplainCall func(ctx context.Context, asked *Consent, q *interaction.Request) *Call

// maxShown bounds the lines of arguments that are shown.
const maxShown = 60

// indented returns the lines of a JSON value, written for people.
func indented(value json.RawMessage) []string {
	var b bytes.Buffer
	if len(value) == 0 || json.Indent(&b, value, "", "  ") != nil {
		return nil
	}
	all := strings.Split(b.String(), "\n")
	if left := len(all) - maxShown; left > 0 {
		all = append(all[:maxShown], "… and "+terminal.Count(left, "more line", "more lines"))
	}
	return all
}
