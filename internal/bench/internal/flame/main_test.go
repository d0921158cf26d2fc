package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

const traces = `File: bench.test
Type: cpu
Duration: 3.67s, Total samples = 100ms (2.72%)
-----------+-------------------------------------------------------
      60ms   encoding/json.Unmarshal (inline)
             github.com/agentruntime/agentruntime/tools.(*Func[go.shape.struct { City string }]).Call
             github.com/agentruntime/agentruntime/runtime.(*workers).serve
-----------+-------------------------------------------------------
      20ms   github.com/agentruntime/agentruntime/runtime.(*workers).serve
-----------+-------------------------------------------------------
      20ms   github.com/agentruntime/agentruntime/internal/bench.floor
             testing.(*B).runN
-----------+-------------------------------------------------------
`

func TestDraw(t *testing.T) {
	var out strings.Builder
	if err := draw(strings.NewReader(traces), &out, "A <turn>", `bench\.floor`); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(out.String())); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the graph is not XML: %v", err)
		}
	}
	for _, want := range []string{
		`<text class="head" x="4" y="20">A &lt;turn&gt;</text>`,
		"<title>agentruntime/runtime.(*workers).serve: 100.0 %</title>",
		"<title>encoding/json.Unmarshal: 75.0 %</title>",
		">tools.(*Func</text>",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the graph lacks %s:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "testing") {
		t.Error("a stack that was to be left out is in the graph")
	}
}

func TestDrawFailsWithoutStacks(t *testing.T) {
	for name, omit := range map[string]string{"nothing is left": ".", "the expression is wrong": "("} {
		if err := draw(strings.NewReader(traces), io.Discard, "", omit); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
