package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/config"
)

// large returns a configuration of many agents and tools, as from a generator.
func large(agents, tools int) []byte {
	var out strings.Builder
	out.WriteString("version: 1\nproviders:\n  p: {type: vendor, api_key: \"${KEY}\"}\nmodels:\n  m: {provider_id: p, upstream_model: x}\ntools:\n")
	for i := range tools {
		fmt.Fprintf(&out, "  tool_%d:\n    type: command\n    description: Looks something up.\n    command: [lookup, --id, \"%d\"]\n", i, i)
		out.WriteString("    parameters: {type: object, properties: {query: {type: string}, limit: {type: integer}}, required: [query]}\n    timeout: 10s\n")
	}
	out.WriteString("agents:\n")
	for i := range agents {
		fmt.Fprintf(&out, "  agent_%d:\n    description: Answers questions on subject %d.\n    model_id: m\n", i, i)
		out.WriteString("    system_prompt: |\n      You are helpful.\n      Answer in one sentence.\n    max_rounds: 8\n")
		fmt.Fprintf(&out, "    allowed_tools: [tool_%d, tool_%d]\n    excluded_tool_patterns: [\"danger-*\"]\n", i%200, (i+1)%200)
		out.WriteString("    sections:\n      retry: {max_retries: 3}\n      permission: {rules: [{tool: \"*\", behavior: ask}]}\n")
	}
	return []byte(out.String())
}

func BenchmarkParse(b *testing.B) {
	for _, agents := range []int{10, 1_000, 10_000} {
		b.Run(fmt.Sprintf("agents=%d", agents), func(b *testing.B) {
			source := config.Source{Name: "config.yaml", Data: large(agents, min(agents, 200))}
			opts := options(map[string]string{"KEY": "secret-of-the-bench"})
			b.SetBytes(int64(len(source.Data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, list := config.Parse([]config.Source{source}, opts); len(list) > 0 {
					b.Fatal(shows(list))
				}
			}
		})
	}
}

func BenchmarkSchema(b *testing.B) {
	kinds := testKinds()
	b.ReportAllocs()
	for b.Loop() {
		config.Schema(kinds)
	}
}
