package openai

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/agentruntime/agentruntime/model"
)

func someTools(n int) []model.Tool {
	list := make([]model.Tool, n)
	for i := range list {
		list[i] = model.Tool{Name: fmt.Sprintf("tool_%d", i), Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}
	}
	return list
}

func newToolCache() *toolCache { return &toolCache{declare: responsesDialect("").declare} }

func (c *toolCache) size() (n int) {
	c.sets.Range(func(any, any) bool { n++; return true })
	return n
}

// TestToolsAreEncodedOnce checks that a set is encoded once, also when many
// ask for it at the same time, and that different sets are told apart.
func TestToolsAreEncodedOnce(t *testing.T) {
	c, tools := newToolCache(), someTools(4)
	first, err := c.encoded(tools)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			again, err := c.encoded(tools)
			if err != nil || unsafe.SliceData(again) != unsafe.SliceData(first) {
				t.Errorf("the set is encoded again (%v)", err)
			}
		})
	}
	group.Wait()
	for name, set := range map[string][]model.Tool{"shorter": tools[:3], "later": tools[1:], "equal": someTools(4)} {
		got, err := c.encoded(set)
		want, _ := c.encode(set)
		if err != nil || string(got) != string(want) || unsafe.SliceData(got) == unsafe.SliceData(first) {
			t.Errorf("the %s set is encoded as %s (%v)", name, got, err)
		}
	}
	if got, err := c.encoded(nil); got != nil || err != nil {
		t.Errorf("no tools are encoded as %s (%v)", got, err)
	}
	runtime.KeepAlive(tools)
}

// TestToolsAreForgotten checks that the cache lets go of sets nobody uses.
func TestToolsAreForgotten(t *testing.T) {
	c := newToolCache()
	for range 100 {
		if _, err := c.encoded(someTools(2)); err != nil {
			t.Fatal(err)
		}
	}
	kept := someTools(2)
	if _, err := c.encoded(kept); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); c.size() > 1; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d sets stay in the cache", c.size())
		}
		runtime.GC()
	}
	if c.size() != 1 {
		t.Error("a set in use was forgotten")
	}
	runtime.KeepAlive(kept)
}

// staticTools lies outside the heap, as a set in a program's data does.
var staticTools = [...]model.Tool{{Name: "fixed", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}}

func TestStaticTools(t *testing.T) {
	c := newToolCache()
	for range 2 {
		if got, err := c.encoded(staticTools[:]); err != nil || !strings.Contains(string(got), "fixed") {
			t.Errorf("the set is encoded as %s (%v)", got, err)
		}
	}
	if c.size() != 1 {
		t.Errorf("the set is in the cache %d times", c.size())
	}
}

func TestObjectSchema(t *testing.T) {
	for schema, want := range map[string]string{
		``:                  `{"type":"object","properties":{}}`,
		`null`:              `{"properties":{},"type":"object"}`,
		`{}`:                `{"properties":{},"type":"object"}`,
		`{"type":"object"}`: `{"properties":{},"type":"object"}`,
		`{"properties":{"b":{},"a":{}},"type":"object"}`: `{"properties":{"b":{},"a":{}},"type":"object"}`,
		`{"type":"object","required":["a"]}`:             `{"properties":{},"required":["a"],"type":"object"}`,
	} {
		if got, err := objectSchema(json.RawMessage(schema)); err != nil || string(got) != want {
			t.Errorf("the schema %s is sent as %s (%v), want %s", schema, got, err, want)
		}
	}
	for _, schema := range []string{`[]`, `{`, `true`} {
		req := hello()
		req.Tools = []model.Tool{{Name: "broken", Parameters: json.RawMessage(schema)}}
		_, err := offline(t, Config{}, nil).encode(req, concessions{})
		if failure := model.AsError(err); failure.Class != model.InvalidRequest || !strings.Contains(failure.Message, "broken") {
			t.Errorf("the schema %s gives %v", schema, err)
		}
	}
}
