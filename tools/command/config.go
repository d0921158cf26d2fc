// Package command is the tool kind command: a call runs a program that a
// configuration file names.
//
// The program is started directly, never through a shell. The arguments of a
// call reach it as one line of JSON on its standard input and, where the
// configuration has placeholders, as elements of its command line. An element
// stays one element whatever the model wrote, and cannot become an option or a
// command. What the program writes to its standard output is the result.
package command

import (
	"encoding/json"
	"time"

	"github.com/agentruntime/agentruntime/internal/process"
	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// KeyVariable is the environment variable that holds the idempotency key of the
// call that a program is started for. It is the same when the call is repeated
// after a crash.
const KeyVariable = "RUNTIME_IDEMPOTENCY_KEY"

// Config is what a configuration file says of a tool of this kind.
type Config struct {
	Description string          `json:"description,omitempty" doc:"Tells the model what the tool is for; models choose tools by it."`
	Parameters  json.RawMessage `json:"parameters,omitempty" doc:"The JSON Schema of the arguments, an object."`

	Command   []string          `json:"command" required:"true" doc:"The program and its arguments; no shell is involved. {{name}} stands for an argument of the call within one element. All arguments arrive as one line of JSON on the program's standard input, too."`
	AllowDash []string          `json:"allow_dash,omitempty" doc:"Arguments of which the value may begin with '-' where nothing stands before it in its element; it could be taken for an option. After '--' it always may."`
	Dir       string            `json:"dir,omitempty" path:"true" doc:"The directory the program runs in; a relative path to the program starts there. Defaults to the workspace of the session, or to that of the runtime."`
	Env       map[string]string `json:"env,omitempty" secret:"true" doc:"Environment variables of the program. Of the runtime's own it gets PATH, HOME, TMPDIR and LANG alone; RUNTIME_IDEMPOTENCY_KEY is set for each call."`

	Timeout   *spec.Duration `json:"timeout,omitempty" alias:"timeout_ms:ms" default:"60s" doc:"How long a call may take; then the program is killed, with all that it started."`
	Effect    tools.Effect   `json:"effect,omitempty" enum:"read|idempotent|once" default:"once" doc:"What repeating a call does, which decides whether it may happen again after a crash."`
	MaxOutput int            `json:"max_output,omitempty" min:"256" max:"1048576" default:"262144" doc:"Bytes of the output that the model is given; what is longer is cut."`
	Serial    bool           `json:"serial,omitempty" doc:"Keeps calls from running beside others of the same answer."`
}

// MarshalJSON writes the record without the values of environment variables,
// which may be secret.
func (c Config) MarshalJSON() ([]byte, error) {
	type plain Config
	c.Env = redact.Values(c.Env)
	return json.Marshal(plain(c))
}

// Action describes the program of a call, with placeholders for the arguments.
func (c *Config) Action() string { return "runs " + process.Line(c.Command) }

func (c *Config) toolEffect() tools.Effect {
	if c.Effect == "" {
		return tools.Once
	}
	return c.Effect
}

func (c *Config) outputLimit() int { return tools.OutputLimit(c.MaxOutput) }

func (c *Config) callTimeout() time.Duration { return tools.CallTimeout(c.Timeout) }
