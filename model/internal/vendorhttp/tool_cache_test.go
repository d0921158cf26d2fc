package vendorhttp

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/agentruntime/agentruntime/model"
)

func someTools(n int) []model.Tool {
	list := make([]model.Tool, n)
	for i := range list {
		list[i] = model.Tool{Name: fmt.Sprintf("tool_%d", i)}
	}
	return list
}

func names(tools []model.Tool) ([]byte, error) {
	var all []byte
	for i := range tools {
		all = append(all, tools[i].Name...)
	}
	return all, nil
}

func (c *ToolCache[V]) size() (n int) {
	c.sets.Range(func(any, any) bool { n++; return true })
	return n
}

// TestToolsAreEncodedOnce checks that a set is encoded once, even by concurrent requests, and that
// different sets are distinguished.
func TestToolsAreEncodedOnce(t *testing.T) {
	c, tools := NewToolCache(names), someTools(4)
	first, err := c.Encoded(tools)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			again, err := c.Encoded(tools)
			if err != nil || unsafe.SliceData(again) != unsafe.SliceData(first) {
				t.Errorf("the set is encoded again (%v)", err)
			}
		})
	}
	group.Wait()
	for name, set := range map[string][]model.Tool{"shorter": tools[:3], "later": tools[1:], "equal": someTools(4)} {
		got, err := c.Encoded(set)
		want, _ := names(set)
		if err != nil || string(got) != string(want) || unsafe.SliceData(got) == unsafe.SliceData(first) {
			t.Errorf("the %s set is encoded as %s (%v)", name, got, err)
		}
	}
	if got, err := c.Encoded(nil); got != nil || err != nil {
		t.Errorf("no tools are encoded as %s (%v)", got, err)
	}
	runtime.KeepAlive(tools)
}

// TestToolsAreForgotten checks that the cache releases unused sets.
func TestToolsAreForgotten(t *testing.T) {
	c := NewToolCache(names)
	for range 100 {
		if _, err := c.Encoded(someTools(2)); err != nil {
			t.Fatal(err)
		}
	}
	kept := someTools(2)
	if _, err := c.Encoded(kept); err != nil {
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

func TestFailuresAreNotKept(t *testing.T) {
	fault := errors.New("no")
	c := NewToolCache(func([]model.Tool) ([]byte, error) { return nil, fault })
	if _, err := c.Encoded(someTools(1)); !errors.Is(err, fault) || c.size() != 0 {
		t.Errorf("a failure is kept %d times (%v)", c.size(), err)
	}
}

// staticTools lies outside the heap, like a set in a program's data.
var staticTools = [...]model.Tool{{Name: "fixed"}}

func TestStaticTools(t *testing.T) {
	c := NewToolCache(names)
	for range 2 {
		if got, err := c.Encoded(staticTools[:]); err != nil || string(got) != "fixed" {
			t.Errorf("the set is encoded as %s (%v)", got, err)
		}
	}
	if c.size() != 1 {
		t.Errorf("the set is in the cache %d times", c.size())
	}
}
