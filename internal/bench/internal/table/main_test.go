package main

import (
	"strings"
	"testing"
)

const output = `goos: linux
cpu: AMD EPYC
BenchmarkTurn/deltas=1-2  	 50000	 24000 ns/op	 2.7 cpu-µs/loop	 27.9 cpu-µs/turn	 9.6 x/loop	 1.2 x/loop-spread	 2.5 µs/loop	 24.1 µs/turn	 9762 B/op	 93 allocs/op
BenchmarkTurn/deltas=1-2  	 50000	 26000 ns/op	 2.7 cpu-µs/loop	 27.9 cpu-µs/turn	 9.8 x/loop	 1.4 x/loop-spread	 2.5 µs/loop	 24.9 µs/turn	 9762 B/op	 93 allocs/op
BenchmarkTurn/deltas=1-2  	 50000	 25000 ns/op	 2.7 cpu-µs/loop	 27.9 cpu-µs/turn	 9.0 x/loop	 1.0 x/loop-spread	 2.5 µs/loop	 24.5 µs/turn	 9762 B/op	 93 allocs/op
BenchmarkConcurrentTurns/1000-2 	 10	 70000000 ns/op	 60.2 cpu-µs/turn	 15.1 cpu-µs/loop	 52 ms/loops	 70 ms/turns	 1.35 x/loop	 0.1 x/loop-spread	 152056 allocs/op
BenchmarkPublish/10-2 	 10	 250000 ns/op	 4096 B/op	 1000 allocs/op
BenchmarkPublish/10-2 	 10	 350000 ns/op	 4096 B/op	 1000 allocs/op
BenchmarkDurableTurn/sqlite-2 	 10	 500000 ns/op	 1890.4 turns/s	 4096 B/op	 1621 allocs/op
PASS
`

func TestPrintTables(t *testing.T) {
	var out strings.Builder
	if err := printTables(strings.NewReader(output), &out); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.String(), output) {
		t.Error("the output of the benchmarks is not copied")
	}
	for _, want := range []string{
		"| Turn, 1 text delta | 25 µs | 2.5 µs | 9.6 | 1.2 | 28 µs | 2.7 µs | 9,762 B | 93 |\n",
		"| 1,000 turns at once, of 2 × 20 ms | 70 ms | 52 ms | 1.4 | 0.1 | 60 µs | 15 µs |  |  |\n",
		"| Publish 1 changed agent of 10, 200 tools | 300 µs | 8 % | 4,096 B | 1,000 |\n",
		"| Kept turn, 64 at a time, SQLite | 1,890/s | 0 % | 4,096 B | 1,621 |\n",
		"| Turn, 1 text delta | 25 µs | 2.5 µs | 9.6 | 93 |\n",
		", AMD EPYC, ",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the tables lack %q:\n%s", want, out.String()[len(output):])
		}
	}
}

func TestPrintTablesFailsWithTheBenchmarks(t *testing.T) {
	for name, in := range map[string]string{
		"a benchmark that failed": output + "--- FAIL: BenchmarkHTTPTurn\nFAIL\n",
		"no results":              "PASS\n",
	} {
		if err := printTables(strings.NewReader(in), new(strings.Builder)); err == nil {
			t.Errorf("%s is not an error", name)
		}
	}
}
