package sessionstart

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
)

// output collects the output of a program.
type output struct {
	stdout, stderr string
	// object is set when standard output is a JSON object.
	object *object
}

// object is the structured output of a program that uses this protocol.
type object struct {
	AdditionalContext string          `json:"additionalContext"`
	Metadata          json.RawMessage `json:"metadata"`
}

// result is the record of a hook in the metadata of a session. In a started session, all programs
// have succeeded.
type result struct {
	Status   string          `json:"status"`
	ExitCode int             `json:"exitCode"`
	Timeout  string          `json:"timeout"`
	TimedOut bool            `json:"timedOut"`
	Stdout   string          `json:"stdout,omitempty"`
	Stderr   string          `json:"stderr,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// parse reads standard output as a JSON object if it is one.
func (o *output) parse() {
	text := strings.TrimSpace(o.stdout)
	var read object
	if strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), &read) == nil {
		o.object = &read
	}
}

// context returns the program's context for every turn; empty if absent.
func (o *output) context() string {
	if o.object != nil {
		return strings.TrimSpace(o.object.AdditionalContext)
	}
	return strings.TrimSpace(o.stdout)
}

// result returns the record of a hook.
func (o *output) result(h *spec.SessionHook) *result {
	r := &result{Status: "succeeded", Timeout: h.Limit().String()}
	if !h.Output.Metadata {
		return r
	}
	r.Stdout, r.Stderr = o.stdout, o.stderr
	if o.object != nil && strings.HasPrefix(strings.TrimSpace(string(o.object.Metadata)), "{") {
		r.Metadata = o.object.Metadata
	}
	return r
}

// problem explains why a program failed: its output, or its exit code.
func (o *output) problem(exit *exec.ExitError) string {
	said := cmp.Or(strings.TrimSpace(o.stderr), strings.TrimSpace(o.stdout))
	if said != "" {
		return clip.At(maxProblem, said)
	}
	if exit.ExitCode() < 0 {
		return "it was ended: " + exit.String()
	}
	return fmt.Sprintf("exit code %d", exit.ExitCode())
}

// IsReserved reports whether only the service sets a member of metadata.
func IsReserved(name string) bool {
	for _, own := range []string{reserved, WorkspaceKey} {
		if name == own || strings.HasPrefix(name, own+".") {
			return true
		}
	}
	return false
}

// ReservedIn returns the name of the first reserved member of metadata, in their order; empty if
// absent.
func ReservedIn(metadata json.RawMessage) string {
	first := ""
	for name := range decodeReserved(metadata) {
		if IsReserved(name) && (first == "" || name < first) {
			first = name
		}
	}
	return first
}

// Kept returns the reserved members of metadata; nil if it has none.
func Kept(metadata json.RawMessage) map[string]json.RawMessage {
	all := decodeReserved(metadata)
	maps.DeleteFunc(all, func(name string, _ json.RawMessage) bool { return !IsReserved(name) })
	if len(all) == 0 {
		return nil
	}
	return all
}

// Replace returns metadata with its reserved members replaced, or removed.
func Replace(metadata json.RawMessage, kept map[string]json.RawMessage) (json.RawMessage, error) {
	all := decodeMembers(metadata)
	maps.DeleteFunc(all, func(name string, _ json.RawMessage) bool { return IsReserved(name) })
	if len(all) == 0 && len(kept) == 0 {
		return nil, nil //nolint:nilnil // no metadata
	}
	if all == nil {
		all = make(map[string]json.RawMessage)
	}
	maps.Copy(all, kept)
	return json.Marshal(all)
}

// contextHeading introduces the hooks' context for every turn.
const contextHeading = "# Session start context\n\n"

// Context returns the message that precedes every turn of a session with this metadata; false if
// absent.
func Context(metadata json.RawMessage) (model.Message, bool) {
	return ContextOf(decodeReserved(metadata))
}

// ContextOf is Context for the reserved members of metadata, such as the result of Run.
func ContextOf(kept map[string]json.RawMessage) (model.Message, bool) {
	var text string
	if json.Unmarshal(kept[contextKey], &text) != nil || text == "" {
		return model.Message{}, false
	}
	return model.System(contextHeading + text), true
}

// Member returns the raw value of a reserved member of metadata; nil if it is missing.
func Member(metadata json.RawMessage, name string) json.RawMessage {
	return decodeReserved(metadata)[name]
}

// decodeReserved returns the members of metadata; nil if none can be reserved, which holds for
// almost all sessions and is found without decoding.
func decodeReserved(metadata json.RawMessage) map[string]json.RawMessage {
	if !bytes.Contains(metadata, []byte(reservedPrefix)) && bytes.IndexByte(metadata, '\\') < 0 { // a name may be escaped
		return nil
	}
	return decodeMembers(metadata)
}

func decodeMembers(metadata json.RawMessage) map[string]json.RawMessage {
	var all map[string]json.RawMessage
	if len(metadata) == 0 || json.Unmarshal(metadata, &all) != nil {
		return nil
	}
	return all
}
