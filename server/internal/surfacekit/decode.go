package surfacekit

import (
	"encoding/json"
	"reflect"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/service"
)

// DecodeAt decodes the value at a path of the request. The error is a *service.InvalidError.
func DecodeAt(raw json.RawMessage, into any, path string) error {
	err := json.Unmarshal(raw, into)
	if err == nil {
		return nil
	}
	below, problem := rawjson.DescribeError(err, reflect.TypeOf(into))
	return &service.InvalidError{Field: diag.Join(path, below), Problem: problem}
}
