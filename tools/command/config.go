// Package command is the tool kind command: a call runs a program that a configuration file names.
//
// The program is started directly, never through a shell. It reads the arguments of a call as one
// line of JSON on its standard input, or the text of the stdin setting. Placeholders put arguments
// into elements of the command line. An element stays one element whatever the model writes, and
// cannot become an option or a command. The standard output is the result.
package command

import (
	"cmp"
	"encoding/json"

	"github.com/agentruntime/agentruntime/internal/process"
	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// keyVariable is the environment variable with the idempotency key of the program's call. The key
// is the same if the call is repeated after a crash.
const keyVariable = "RUNTIME_IDEMPOTENCY_KEY"

// config is the configuration of a tool of this kind.
type config struct {
	Description string          `json:"description,omitempty" doc:"The tool's purpose, by which models choose tools."`
	Parameters  json.RawMessage `json:"parameters,omitempty" doc:"The JSON Schema of the arguments, an object."`

	Command   []string          `json:"command" required:"true" doc:"The program and its arguments; no shell is involved. {{name}} is replaced by an argument of the call and stays within its element."`
	Stdin     *string           `json:"stdin,omitempty" doc:"The program's standard input, with {{name}} for arguments of the call; empty for none. If absent, the program reads all arguments as one line of JSON."`
	AllowDash []string          `json:"allow_dash,omitempty" doc:"Arguments whose value may begin with '-' at the start of an element, where it could be taken for an option. After '--' every value may."`
	Dir       string            `json:"dir,omitempty" path:"dir" doc:"The program's working directory, which also resolves a relative program path. Defaults to the session's workspace, or to the runtime's directory."`
	Env       map[string]string `json:"env,omitempty" secret:"true" doc:"Environment variables of the program. It inherits only PATH, HOME, TMPDIR and LANG; RUNTIME_IDEMPOTENCY_KEY is set for each call."`

	Timeout   *spec.Duration `json:"timeout,omitempty" alias:"timeout_ms:ms" default:"60s" doc:"Time limit of a call. Then the program and all processes it started are killed."`
	Effect    tools.Effect   `json:"effect,omitempty" enum:"read|idempotent|once" default:"once" doc:"The effect of repeating a call, which decides whether a call is repeated after a crash."`
	MaxOutput int            `json:"max_output,omitempty" min:"256" max:"1048576" default:"262144" doc:"Maximum bytes of output for the model; longer output is truncated."`
	Serial    bool           `json:"serial,omitempty" doc:"Prevents calls from running in parallel with other calls of the same answer."`
}

// MarshalJSON writes the record without the values of environment variables,
// which may be secret.
func (c config) MarshalJSON() ([]byte, error) {
	type plain config
	c.Env = redact.Values(c.Env)
	return json.Marshal(plain(c))
}

// Program returns the program with its arguments, and its working directory.
func (c *config) Program() (command []string, dir string) { return c.Command, c.Dir }

// Action describes the program of a call, with placeholders for the arguments.
func (c *config) Action() string { return "runs " + process.Line(c.Command) }

func (c *config) toolEffect() tools.Effect { return cmp.Or(c.Effect, tools.Once) }
