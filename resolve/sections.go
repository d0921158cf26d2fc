package resolve

import (
	"encoding/json"
	"strconv"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/plugins"
)

// Sections returns the sections that the resolver itself reads. They are claimed for every local
// agent.
func Sections() []plugins.Section {
	return []plugins.Section{
		plugins.NewSection(RetryKey, "How model calls are repeated.", json.RawMessage(retrySchema), decodeRetry),
		compactionSection(),
		knowledgeCutoffSection(),
	}
}

// isPipelineKey reports whether the resolver itself reads a section.
func isPipelineKey(key string) bool {
	return key == RetryKey || key == compactionKey || key == KnowledgeCutoffKey
}

// claim is a section that a plugin claims, with its compiled schema. The schema is nil if it does
// not compile.
type claim struct {
	plugin string
	plugins.Section
	schema *schema.Schema
}

// decodeSection lets the plugin decode a section that satisfies the schema. raw is nil when the
// agent does not have the section. The error is a panic of the plugin.
func (c *claim) decodeSection(raw json.RawMessage) (v any, found diag.List, err error) {
	if c.Decode == nil {
		return raw, nil, nil
	}
	err = callGuarded("the decoder of section "+strconv.Quote(c.Key), func() { v, found = c.Decode(raw) })
	return v, found, err
}
