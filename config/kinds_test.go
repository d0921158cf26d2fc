package config_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// vendor is the record of a realistic provider kind.
type vendor struct {
	APIKey  string            `json:"api_key" required:"true" secret:"true" doc:"The key."`
	BaseURL string            `json:"base_url,omitempty" pattern:"^https?://" doc:"Where the vendor is."`
	API     string            `json:"api,omitempty" enum:"responses|chat_completions" default:"responses" doc:"Which API to use."`
	Headers map[string]string `json:"headers,omitempty" secret:"true" doc:"Headers of every request."`
}

type echo struct {
	Script string  `json:"script,omitempty" path:"read" doc:"A file with replies."`
	Delay  float64 `json:"delay,omitempty" min:"0" max:"60" doc:"Seconds before a reply."`
}

// command is the record of a tool kind.
type command struct {
	Description string          `json:"description,omitempty" doc:"What the tool is for."`
	Command     []string        `json:"command" required:"true" min:"1" doc:"The program and its arguments."`
	Parameters  json.RawMessage `json:"parameters,omitempty" doc:"The JSON Schema of the arguments."`
	Timeout     spec.Duration   `json:"timeout,omitempty" alias:"timeout_ms:ms,timeout_secs:s" default:"60s" doc:"How long a call may take."`
	Effect      string          `json:"effect,omitempty" enum:"read|idempotent|once" default:"once" doc:"What a call does."`
	Retries     uint8           `json:"retries,omitempty" doc:"How often to try again."`
	Limits      *withLimits     `json:"limits,omitempty" doc:"Limits of the process."`
	Mounts      []mount         `json:"mounts,omitempty" doc:"Directories."`
	Level       level           `json:"level,omitempty" doc:"A type that reads texts."`
	Extra       any             `json:"extra,omitempty" doc:"Anything."`
}

type withLimits struct {
	Memory int64 `json:"memory" required:"true" min:"1" doc:"Bytes."`
}

type mount struct {
	From string `json:"from" required:"true" path:"true" doc:"Where."`
	RO   bool   `json:"read_only,omitempty" doc:"Whether it is read-only."`
}

type level int

// UnmarshalText parses low or high.
func (l *level) UnmarshalText(text []byte) error {
	switch string(text) {
	case "low":
		*l = 1
	case "high":
		*l = 2
	default:
		return errors.New("it must be low or high")
	}
	return nil
}

// Validate rejects a command that runs itself.
func (c *command) Validate() diag.List {
	if len(c.Command) > 0 && c.Command[0] == "self" {
		return diag.List{diag.New(diag.InvalidValue, "command[0]", "a tool cannot run itself")}
	}
	return nil
}

type audit struct {
	Level string `json:"level,omitempty" enum:"debug|info" default:"info" doc:"How much to log."`
}

func testKinds() config.Kinds {
	return config.Kinds{
		Providers: []model.ProviderKind{
			spec.NewKind("vendor", "A vendor.", func(model.Settings, *vendor) (model.Executor, error) { return nil, nil }),
			spec.NewKind("echo", "Repeats what it is told.", func(model.Settings, *echo) (model.Executor, error) { return nil, nil }),
		},
		Tools: []tools.Kind{
			spec.NewKind("command", "Runs a program.", func(tools.Settings, *command) (tools.Tool, error) { return nil, nil }),
		},
		Plugins: []plugins.Kind{
			spec.NewKind("log", "Logs.", func(plugins.Settings, *audit) (plugins.Plugin, error) { return nil, nil }),
		},
		Sections: []plugins.Section{{
			Key: "retry", Summary: "How often a model call is repeated.",
			Schema: json.RawMessage(`{"type":"object","properties":{"max_retries":{"$ref":"#/$defs/n"}},"additionalProperties":false,"$defs":{"n":{"type":"integer","minimum":0}}}`),
		}},
	}
}

func parseDocument(t *testing.T, text string) (*config.File, diag.List) {
	t.Helper()
	return config.Parse([]config.Source{{Name: "testdata/config.yaml", Data: []byte(text)}}, options(nil))
}

func options(env map[string]string) config.Options {
	return config.Options{
		Kinds: testKinds(),
		LookupEnv: func(name string) (string, bool) {
			v, ok := env[name]
			return v, ok
		},
	}
}

// lines joins the lines of a file.
func lines(text ...string) string { return strings.Join(text, "\n") + "\n" }

func shows(list diag.List) string {
	var out []string
	for _, d := range list {
		out = append(out, d.Error())
	}
	return strings.Join(out, "\n")
}

const second = spec.Duration(time.Second)
