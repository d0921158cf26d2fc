package evals

import (
	"encoding/json"

	"github.com/agentruntime/agentruntime/config"
)

// Schema returns the JSON Schema (draft 2020-12) of files of cases.
func Schema() json.RawMessage {
	return config.RecordSchema[File]("Eval cases of the agent runtime")
}
