package persist

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestAMapIsLikeAGoMap compares versions of a map with copies of a Go map.
func TestAMapIsLikeAGoMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type version struct {
			got  *Map[int, int]
			want map[int]int
		}
		versions := []version{{new(Map[int, int]), map[int]int{}}}
		key := rapid.IntRange(0, 200)
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			v := &versions[rapid.IntRange(0, len(versions)-1).Draw(t, "version")]
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				versions = append(versions, version{v.got.Clone(), maps.Clone(v.want)})
			case 1, 2, 3:
				k := key.Draw(t, "key")
				_, there := v.want[k]
				if got := v.got.Delete(k); got != there {
					t.Fatalf("Delete(%d) = %t, want %t", k, got, there)
				}
				delete(v.want, k)
			default:
				k, n := key.Draw(t, "key"), rapid.Int().Draw(t, "value")
				v.got.Set(k, n)
				v.want[k] = n
			}
		}
		for _, v := range versions {
			if got := maps.Collect(v.got.All()); !maps.Equal(got, v.want) || v.got.Len() != len(v.want) {
				t.Fatalf("the map has %v (%d), want %v", got, v.got.Len(), v.want)
			}
			for k := range 201 {
				got, ok := v.got.Get(k)
				if want, there := v.want[k]; got != want || ok != there {
					t.Fatalf("Get(%d) = %d, %t; want %d, %t", k, got, ok, want, there)
				}
			}
		}
		a, b := versions[0], versions[len(versions)-1]
		checkDiff(t, a.got, b.got, a.want, b.want)
	})
}

// checkDiff compares Diff with a comparison of all entries.
func checkDiff(t *rapid.T, a, b *Map[int, int], inA, inB map[int]int) {
	var got, want []int
	Diff(a, b, func(x, y int) bool { return x == y }, func(k int) { got = append(got, k) })
	for k := range 201 {
		x, isA := inA[k]
		if y, isB := inB[k]; x != y || isA != isB {
			want = append(want, k)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Fatalf("the maps differ in %v, want %v", got, want)
	}
}

// TestACopyCostsNothing limits the allocations of a copy and of one change to a copy.
func TestACopyCostsNothing(t *testing.T) {
	var m Map[int, int]
	const entries = 10_000
	for i := range entries {
		m.Set(i, i)
	}
	next := 0
	change := func() {
		m.Clone().Set(next, -1)
		next = (next + 1) % entries
	}
	if n := testing.AllocsPerRun(entries, change); n > 12 {
		t.Errorf("a changed copy of 10,000 entries takes %v allocations, at most 12 are allowed", n)
	}
}
