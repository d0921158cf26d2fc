package bench

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/app/shipped"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/runtime"
	"go.uber.org/zap"
)

// BenchmarkReload measures a server's reload after a change to one agent of many, over 200 tools:
// parse-ms is the time to read the files, and publish-ms the time to find the differences, verify
// that they resolve and publish them.
func BenchmarkReload(b *testing.B) {
	for _, agents := range []int{10, 1_000, 10_000} {
		b.Run(fmt.Sprint(agents), func(b *testing.B) { benchmarkReload(b, agents) })
	}
}

func benchmarkReload(b *testing.B, agents int) {
	components, logger := shipped.Components(), zap.NewNop()
	read := func(version int) *builder.AgentRuntimeBuilder {
		file, found := config.Parse([]config.Source{{Name: "agents.yaml", Data: crowdDocument(agents, version)}}, config.Options{Kinds: components.ConfigKinds()})
		if found.HasErrors() {
			b.Fatal(found)
		}
		return components.NewBuilder(logger).WithConfig(file)
	}
	rt, err := read(0).Build()
	if err != nil {
		b.Fatal(err)
	}
	version := 0
	var parsing, publishing time.Duration
	for b.Loop() {
		version++
		begun := time.Now()
		made := read(version)
		parsed := time.Now()
		publishReload(b, rt, made)
		parsing, publishing = parsing+parsed.Sub(begun), publishing+time.Since(parsed)
	}
	b.ReportMetric(parsing.Seconds()*1000/float64(version), "parse-ms")
	b.ReportMetric(publishing.Seconds()*1000/float64(version), "publish-ms")
	if err := rt.Close(); err != nil {
		b.Error(err)
	}
}

// publishReload checks and publishes the content of a builder.
func publishReload(b *testing.B, rt *runtime.AgentRuntime, made *builder.AgentRuntimeBuilder) {
	current := rt.AcquireRevision()
	defer current.Release()
	if _, list := made.Adopt(current).Check(b.Context()); list.HasErrors() {
		b.Fatal(list)
	}
	if _, err := made.Publish(b.Context(), rt); err != nil {
		b.Fatal(err)
	}
}

// crowdDocument returns a configuration of many agents; version selects the content of one.
func crowdDocument(agents, version int) []byte {
	var out bytes.Buffer
	out.WriteString("version: 1\nproviders:\n  demo: {type: openai, base_url: \"http://127.0.0.1:1/v1\"}\nmodels:\n  default: {provider_id: demo, upstream_model: replay}\ntools:\n")
	for i := range 200 {
		fmt.Fprintf(&out, "  tool_%03d: {type: http, description: Weather of a city., url: \"https://weather.example/%d\", method: GET}\n", i, i)
	}
	out.WriteString("agents:\n")
	for i := range agents {
		prompt := "You are helpful."
		if i == agents/2 {
			prompt = fmt.Sprintf("You are helpful, in version %d.", version)
		}
		fmt.Fprintf(&out, "  agent%05d: {model_id: default, system_prompt: %q", i, prompt)
		if i%2 == 1 {
			out.WriteString(", allowed_tools: [\"tool_1*\"], excluded_tools: [tool_107]")
		}
		out.WriteString("}\n")
	}
	return out.Bytes()
}
