package surfacekit

import (
	"encoding/json"
	"fmt"

	"github.com/agentruntime/agentruntime/model"
)

// ReadContent returns the parts of a message, whose content is a text or a list of P. toModel
// converts a P at its path; parts without a type are left out. unfit is the error for other content.
func ReadContent[P any](raw json.RawMessage, path string, unfit error, toModel func(p *P, path string) (model.Part, error)) ([]model.Part, error) {
	var text string
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if json.Unmarshal(raw, &text) == nil {
		return []model.Part{model.Text(text)}, nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil, unfit
	}
	parts := make([]model.Part, 0, len(list))
	for i := range list {
		one, at := new(P), fmt.Sprintf("%s[%d]", path, i)
		if err := DecodeAt(list[i], one, at); err != nil {
			return nil, err
		}
		part, err := toModel(one, at)
		if err != nil {
			return nil, err
		}
		if part.Type != "" {
			parts = append(parts, part)
		}
	}
	return parts, nil
}
