package http

import (
	"encoding/json"
	"testing"
)

func benchmarkProgram(b *testing.B) *program {
	b.Helper()
	c := &config{
		Method: "POST", URL: "https://api.example/v1/{{country}}/weather?q={{city}}&units=metric",
		Headers: map[string]string{"Authorization": "Bearer token", "X-Trace": "{{city}}"},
		Body:    json.RawMessage(`{"city":"{{city}}","days":"{{days}}"}`),
	}
	p, list := c.compileProgram()
	for _, d := range list {
		if d.Path != "url" && d.Path != "body" && d.Path != "headers.X-Trace" {
			b.Fatal(d)
		}
	}
	return p
}

func BenchmarkRenderURL(b *testing.B) {
	p := benchmarkProgram(b)
	args, err := decodeArguments(json.RawMessage(`{"country":"fr","city":"Paris","days":3}`))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := p.address.renderURL(args, p.query); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBuildRequest(b *testing.B) {
	p := benchmarkProgram(b)
	call := arg(`{"country":"fr","city":"Paris","days":3}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.buildRequest(b.Context(), call); err != nil {
			b.Fatal(err)
		}
	}
}
