package runtime_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/runtime"
	"pgregory.net/rapid"
)

// document draws a JSON value.
func document(depth int) *rapid.Generator[any] {
	name := rapid.SampledFrom([]string{"a", "b", "c/d", "~", `"`, `\`, "", "é"})
	scalar := rapid.OneOf(rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.IntRange(0, 3).AsAny(), name.AsAny())
	if depth == 0 {
		return scalar
	}
	below := rapid.Deferred(func() *rapid.Generator[any] { return document(depth - 1) })
	return rapid.OneOf(scalar, rapid.SliceOfN(below, 0, 4).AsAny(), rapid.MapOfN(name, below, 0, 4).AsAny())
}

func TestPropertyAPatchLeadsFromOneStateToTheOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		encode := func(what string) json.RawMessage {
			raw, err := json.Marshal(document(3).Draw(t, what))
			if err != nil {
				t.Fatal(err)
			}
			return raw
		}
		from, to := encode("from"), encode("to")
		var patch []wire.PatchOp
		for _, op := range runtime.DiffCustom(from, to) {
			patch = append(patch, wire.PatchOp{Op: op.Op, Path: op.Path, Value: op.Value})
		}
		got, err := agents.ApplyPatch(from, patch)
		if err != nil || !bytes.Equal(got, to) {
			t.Fatalf("%s and %s come to %s, %v; want %s", from, patch, got, err, to)
		}
		if len(patch) == 0 != bytes.Equal(from, to) {
			t.Fatalf("%d operations from %s to %s", len(patch), from, to)
		}
	})
}

func FuzzDiffCustom(f *testing.F) {
	f.Add([]byte(`{"a":[1,"\u0061\\",{}],"b":"x"}`), []byte(`{"b":"x","a":[1,"a\\"]}`))
	f.Fuzz(func(_ *testing.T, from, to []byte) {
		var a, b bytes.Buffer
		if json.Compact(&a, from) != nil || json.Compact(&b, to) != nil {
			return
		}
		runtime.DiffCustom(a.Bytes(), b.Bytes()) // it does not panic
	})
}
