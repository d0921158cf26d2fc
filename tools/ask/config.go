// Package ask is the tool kind ask: a call asks the user of the turn a question, and the answer is
// its result.
//
// A call is an interaction like an approval: every surface can answer it, it survives restarts, and
// it times out as configured for turns. The answer is checked immediately; an invalid answer is
// rejected, and the question stays open.
package ask

import (
	"cmp"
	"encoding/json"

	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// The values of kind.
const (
	kindQuestion = "question"
	kindAuth     = "auth"
)

// Config is the configuration of a tool of this kind.
type Config struct {
	Description string          `json:"description,omitempty" doc:"The tool's purpose, by which models choose tools."`
	Question    string          `json:"question,omitempty" doc:"The question; {{name}} is replaced by an argument. By default the model writes the question."`
	Parameters  json.RawMessage `json:"parameters,omitempty" doc:"The JSON Schema of the arguments used in question, an object."`

	Choices []string        `json:"choices,omitempty" doc:"The possible answers. Without choices and schema, any text is valid, and the model may offer choices if it writes the question."`
	Schema  json.RawMessage `json:"schema,omitempty" doc:"The JSON Schema of an answer. Not together with choices."`

	Kind string `json:"kind,omitempty" enum:"question|auth" default:"question" doc:"With auth, a person authorizes the agent elsewhere and answers whether it was done; the A2A task is auth-required, otherwise input-required. Do not answer with credentials: the model would read them."`
	URL  string `json:"url,omitempty" doc:"The https URL where the person authorizes the agent, for kind auth."`
}

// Kind returns the tool kind ask.
func Kind() tools.Kind {
	return spec.NewKind("ask", "A question to the user.", createTool).AsPure()
}

func (c *Config) questionKind() string { return cmp.Or(c.Kind, kindQuestion) }
