package registry_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A registry is a list of ids and a map, whatever is done to it: it lists ids
// in the order in which they were added, and a replaced entry keeps its place.
func TestRegistryKeepsTheOrderOfInsertion(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := registry.NewSet().Tools
		var ids []string
		entries := map[string]tools.Tool{}
		id := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				id, entry := id.Draw(t, "id"), tool(rapid.String().Draw(t, "tool"))
				err := r.Add(id, entry)
				var taken *registry.DuplicateError
				if slices.Contains(ids, id) {
					if !errors.As(err, &taken) || taken.ID != id || taken.Kind != "tool" {
						t.Fatalf("Add(%s) = %v, though it is taken", id, err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				ids, entries[id] = append(ids, id), entry
			},
			"put": func(t *rapid.T) {
				id, entry := id.Draw(t, "id"), tool(rapid.String().Draw(t, "tool"))
				r.Put(id, entry)
				if !slices.Contains(ids, id) {
					ids = append(ids, id)
				}
				entries[id] = entry
			},
			"remove": func(t *rapid.T) {
				id := id.Draw(t, "id")
				if removed, want := r.Remove(id), slices.Contains(ids, id); removed != want {
					t.Fatalf("Remove(%s) = %v, want %v", id, removed, want)
				}
				ids = slices.DeleteFunc(ids, func(other string) bool { return other == id })
				delete(entries, id)
			},
			"": func(t *rapid.T) {
				if !slices.Equal(r.IDs(), ids) || r.Len() != len(ids) {
					t.Fatalf("ids are %v, want %v", r.IDs(), ids)
				}
				var listed []string
				for id, entry := range r.All() {
					listed = append(listed, id)
					if got, ok := r.Get(id); !ok || got != entry || entry != entries[id] {
						t.Fatalf("entry %s is %v, want %v", id, got, entries[id])
					}
				}
				if !slices.Equal(listed, ids) {
					t.Fatalf("All lists %v, want %v", listed, ids)
				}
			},
		})
	})
}

func TestAllStopsWhenItIsTold(t *testing.T) {
	t.Parallel()
	r := registry.NewSet().Tools
	r.Put("a", tool("a"))
	r.Put("b", tool("b"))
	for id := range r.All() {
		if id != "a" {
			t.Fatalf("All went on to %s", id)
		}
		break
	}
}

// Entries may be removed while they are listed.
func TestRemovingWhileListing(t *testing.T) {
	t.Parallel()
	for name, list := range map[string]func(*registry.Registry[tools.Tool], func(string)){
		"All": func(r *registry.Registry[tools.Tool], f func(string)) {
			for id := range r.All() {
				f(id)
			}
		},
		"IDs": func(r *registry.Registry[tools.Tool], f func(string)) {
			for _, id := range r.IDs() {
				f(id)
			}
		},
	} {
		r := registry.NewSet().Tools
		for _, id := range []string{"a", "b", "c", "d"} {
			r.Put(id, tool(id))
		}
		var seen []string
		list(r, func(id string) { seen = append(seen, id); r.Remove(id) })
		if diff := cmp.Diff([]string{"a", "b", "c", "d"}, seen); diff != "" {
			t.Errorf("%s lists (-want +got):\n%s", name, diff)
		}
		if r.Len() != 0 {
			t.Errorf("%s: %d entries are left", name, r.Len())
		}
	}
}

func TestADuplicateIsADiagnosticAtItsPlace(t *testing.T) {
	t.Parallel()
	r := registry.NewSet().Tools
	r.Put("get.x", tool(""))
	var d diag.Diagnoser
	if err := r.Add("get.x", tool("")); !errors.As(err, &d) {
		t.Fatalf("Add = %v", err)
	}
	want := diag.New(diag.DuplicateID, `tools["get.x"]`, `tool "get.x" is already registered`)
	if diff := cmp.Diff(want, d.Diagnostic()); diff != "" {
		t.Errorf("diagnostic (-want +got):\n%s", diff)
	}
}
