package fleet

import (
	"bytes"
	"encoding/json"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/resolve"
)

// redactors returns a function that hides values of variables in output. It knows the variables
// of the running configuration and of the given files.
func (c *core) redactors(files ...*config.File) func(string) string {
	files = append(files, c.currentFile())
	return func(text string) string {
		for _, file := range files {
			if file != nil {
				text = file.Redact(text)
			}
		}
		return text
	}
}

func (c *core) redactFindings(list diag.List) diag.List {
	redact := c.redactors()
	for i := range list {
		list[i].Message, list[i].Hint = redact(list[i].Message), redact(list[i].Hint)
	}
	return list
}

// MaskDocument returns a document for display: it masks values of secret fields, which earlier
// runtime versions stored.
func (c *core) MaskDocument(document []byte) json.RawMessage {
	return config.MaskDocument(document, c.settings.Config)
}

// redactJSON returns a value as JSON with its texts redacted.
func redactJSON(v any, redact func(string) string) (json.RawMessage, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var decoded any
	if err := decoder.Decode(&decoded); err != nil {
		return nil, err
	}
	return json.Marshal(redactTexts(decoded, redact))
}

// redactTexts redacts the texts in a decoded JSON value.
func redactTexts(v any, redact func(string) string) any {
	switch v := v.(type) {
	case string:
		return redact(v)
	case []any:
		for i := range v {
			v[i] = redactTexts(v[i], redact)
		}
	case map[string]any:
		for name := range v {
			v[name] = redactTexts(v[name], redact)
		}
	}
	return v
}

// redactDiff hides the values of variables in a report.
func redactDiff(r *resolve.DiffReport, redact func(string) string) *resolve.DiffReport {
	for i := range r.Agents {
		for j := range r.Agents[i].Changes {
			c := &r.Agents[i].Changes[j]
			c.Old, c.New, c.Reason = redact(c.Old), redact(c.New), redact(c.Reason)
		}
	}
	return r
}
