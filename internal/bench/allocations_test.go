//go:build !race

package bench

import (
	"testing"
)

// TestAllocations limits the allocations of the hot paths. Unlike times, these numbers are the same
// on every machine; they are for Go 1.26.
func TestAllocations(t *testing.T) {
	for _, tt := range []struct {
		name          string
		run           func(*testing.B)
		allocs, bytes int64
	}{
		{"resolve, 10 tools, 2 plugins", func(b *testing.B) { benchmarkResolve(b, size{tools: 10, plugins: 2}) }, 14, 1600},
		{"resolve, 500 tools, 20 patterns, 5 plugins", func(b *testing.B) {
			benchmarkResolve(b, size{tools: 500, patterns: 20, plugins: 5})
		}, 22, 2248},
		{"turn, one delta", func(b *testing.B) { benchmarkTurn(b, script(b, 1), 0) }, 83, 10 << 10},
		{"turn, 50 deltas", func(b *testing.B) { benchmarkTurn(b, script(b, 50), 0) }, 87, 11 << 10},
		{"turn, 200 messages of history", func(b *testing.B) { benchmarkTurn(b, script(b, 1), 200) }, 83, 28 << 10},
		{"turn, traced", func(b *testing.B) { benchmarkTurn(b, script(b, 1), 0, traced(b)) }, 136, 31 << 10},
		{"turn, guarded", func(b *testing.B) { benchmarkTurn(b, script(b, 1), 0, guarded(b)) }, 136, 17 << 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := testing.Benchmark(tt.run)
			if r.N == 0 {
				t.Fatal("the benchmark failed")
			}
			t.Logf("%d allocations, %d bytes, %d ns", r.AllocsPerOp(), r.AllocedBytesPerOp(), r.NsPerOp())
			if r.AllocsPerOp() > tt.allocs {
				t.Errorf("%d allocations, at most %d are allowed", r.AllocsPerOp(), tt.allocs)
			}
			if r.AllocedBytesPerOp() > tt.bytes {
				t.Errorf("%d bytes, at most %d are allowed", r.AllocedBytesPerOp(), tt.bytes)
			}
		})
	}
}
