// Package ask is the tool kind ask: a call asks the user of the turn a question, and the answer is
// its result.
//
// A call is an interaction like an approval: every surface can answer it, it survives restarts, and
// it times out as configured for turns. The answer is checked immediately; an invalid answer is
// rejected, and the question stays open.
package ask

import (
	"encoding/json"

	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// The values of kind.
const (
	KindQuestion = "question"
	KindAuth     = "auth"
)

// Config is the configuration of a tool of this kind.
type Config struct {
	Description string          `json:"description,omitempty" doc:"Describes the purpose of the tool; models choose tools by it."`
	Question    string          `json:"question,omitempty" doc:"The question; {{name}} is replaced by an argument. By default the model writes the question."`
	Parameters  json.RawMessage `json:"parameters,omitempty" doc:"The JSON Schema of the arguments that stand in question, an object."`

	Choices []string        `json:"choices,omitempty" doc:"The answers that there are. Without choices and schema any text is one, and the model may offer choices where it writes the question."`
	Schema  json.RawMessage `json:"schema,omitempty" doc:"The JSON Schema of an answer. Not together with choices."`

	Kind string `json:"kind,omitempty" enum:"question|auth" default:"question" doc:"With auth somebody is asked to authorise the agent elsewhere, and answers whether that was done; over A2A the task is auth-required then, otherwise input-required. Credentials are no answer: the model would read them."`
	URL  string `json:"url,omitempty" doc:"Where the person authorises the agent, an https URL; for the kind auth."`
}

// Kind returns the tool kind ask.
func Kind() tools.Kind {
	return spec.NewKind("ask", "A question to the user.", createTool).AsPure()
}

func (c *Config) questionKind() string {
	if c.Kind == "" {
		return KindQuestion
	}
	return c.Kind
}
