package spec

import (
	"encoding/json"
	"regexp"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
	"github.com/agentruntime/agentruntime/internal/redact"
)

// hookID matches the ids of hooks.
var hookID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// defaultHookTimeout is the default time limit of a session hook.
const defaultHookTimeout = time.Minute

// SessionHook is a program that runs once, when a session of its agent begins.
type SessionHook struct {
	ID      string            `json:"id" required:"true" pattern:"^[A-Za-z0-9_-]{1,64}$" doc:"The hook's name, which keys its stored result: letters, digits, _ and -."`
	Type    string            `json:"type,omitempty" enum:"command" default:"command" doc:"The kind of hook."`
	Command []string          `json:"command" required:"true" min:"1" doc:"The program and its arguments; no shell is involved."`
	Cwd     string            `json:"cwd,omitempty" path:"true" doc:"The program's working directory. Defaults to the runtime's directory."`
	Timeout *Duration         `json:"timeout,omitempty" default:"60s" doc:"Time limit of the program. Then it and all processes it started are killed, and the session fails."`
	Env     map[string]string `json:"env,omitempty" secret:"true" doc:"Environment variables of the program. It inherits only HOME, PATH, SHELL, TMPDIR, USER, LOGNAME, LANG and LC_ALL."`
	Output  HookOutput        `json:"output,omitzero" doc:"Which part of the program's standard output is stored."`
}

// HookOutput is the part of a hook's output that a session stores.
type HookOutput struct {
	AdditionalContext bool `json:"additional_context,omitempty" doc:"Adds the output as a system message before every turn of the session: the member additionalContext of a JSON object, or the whole text."`
	Metadata          bool `json:"metadata,omitempty" doc:"Keeps standard output, standard error and the member metadata of a JSON object in the session's metadata."`
}

// Limit returns how long the program may take.
func (h *SessionHook) Limit() time.Duration {
	return orDefault(h.Timeout, Duration(defaultHookTimeout)).Std()
}

// MarshalJSON writes the record without the values of environment variables, which may
// be secret.
func (h SessionHook) MarshalJSON() ([]byte, error) {
	type plain SessionHook
	h.Env = redact.Values(h.Env)
	return json.Marshal(plain(h))
}

// Validate checks the record by itself. Paths are relative to the hook.
func (h *SessionHook) Validate() diag.List {
	list := check.PositiveSpan("timeout", h.Timeout)
	if !hookID.MatchString(h.ID) {
		list = append(list, diag.New(diag.InvalidValue, "id", "the id of a hook has 1 to 64 letters, digits, _ and -"))
	}
	if len(h.Command) == 0 || h.Command[0] == "" {
		list = append(list, diag.New(diag.InvalidValue, "command", "command names no program").
			WithHint("give the program and its arguments as a list, such as [git, status]"))
	}
	if h.Type != "" && h.Type != "command" {
		list = append(list, diag.New(diag.InvalidValue, "type", "type is %q; allowed is command", h.Type))
	}
	return list
}

// ValidateSessionHooks checks the hooks of an agent, or of a session. Paths are relative
// to the list.
func ValidateSessionHooks(hooks []SessionHook) diag.List {
	var list diag.List
	seen := make(map[string]int)
	for i := range hooks {
		path := diag.Index("", i)
		list = append(list, check.Within(path, hooks[i].Validate())...)
		if first, ok := seen[hooks[i].ID]; ok {
			list = append(list, diag.New(diag.DuplicateID, diag.Join(path, "id"), "hook %q is hook %d of the agent already", hooks[i].ID, first+1).
				WithHint("give each hook a different id, under which its result is stored"))
			continue
		}
		seen[hooks[i].ID] = i
	}
	return list
}

// validateSessionStart checks the hooks of the agent.
func (a *Agent) validateSessionStart() diag.List {
	list := check.Within("session_start", ValidateSessionHooks(a.SessionStart))
	if a.Endpoint == nil {
		return list
	}
	for i := range a.SessionStart {
		if a.SessionStart[i].Output.AdditionalContext {
			list = append(list, diag.New(diag.InvalidValue, diag.Join(diag.Index("session_start", i), "output.additional_context"),
				"an agent with an endpoint owns its prompt, so nothing can be put before its turns").
				WithHint("remove additional_context, or let the agent at the endpoint have the hook"))
		}
	}
	return list
}
