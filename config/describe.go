package config

import (
	"encoding/json"
	"reflect"

	"github.com/agentruntime/agentruntime/config/internal/describe"
	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/record"
)

// Schema returns the JSON Schema (draft 2020-12) of configuration files. It accepts every file
// shape that Parse accepts. Texts may contain variables everywhere, even in sections, so no text
// has a format: a validator that asserts formats would reject the variable. Sections that none of
// kinds claims are allowed, because Parse allows them too.
func Schema(kinds Kinds) json.RawMessage { return describe.Schema(kinds.components()) }

// RecordSchema returns the JSON Schema (draft 2020-12) of documents that ParseRecord
// reads.
func RecordSchema[T any](title string) json.RawMessage {
	return describe.RecordSchema(reflect.TypeFor[T](), title)
}

// Reference returns the reference page of configuration files as Markdown: one table per record,
// generated from the descriptions used for decoding.
func Reference(kinds Kinds) string { return describe.Reference(kinds.components()) }

// Starter returns a small configuration with one agent on a model of the first provider kind,
// including its key and required fields. Unknown values are variables, such as ${OPENAI_API_KEY}.
// It returns nothing if there are no provider kinds.
func Starter(kinds Kinds) []byte { return describe.Starter(kinds.components()) }

// components returns the kinds and sections of the program, for descriptions of its files.
func (k *Kinds) components() *describe.Components {
	return &describe.Components{
		Kinds: map[string][]record.Kind{
			"providers": record.KindsOf(k.Providers), keys.Tools: record.KindsOf(k.Tools),
			"plugins": record.KindsOf(k.Plugins), "agent_providers": record.KindsOf(k.AgentProviders),
		},
		Sections: k.Sections, RecordOf: k.recordOf,
	}
}
