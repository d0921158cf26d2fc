package surfacetest

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

var (
	cores = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	times = regexp.MustCompile(`"(created|created_at|completed_at)":[0-9]+`)
)

// Golden compares an answer with a file, in which ids are numbered and times are 0.
func Golden(t *testing.T, name string, got []byte) {
	t.Helper()
	seen := map[string]string{}
	got = cores.ReplaceAllFunc(got, func(id []byte) []byte {
		if seen[string(id)] == "" {
			seen[string(id)] = fmt.Sprintf("T%d", len(seen)+1)
		}
		return []byte(seen[string(id)])
	})
	got = times.ReplaceAll(got, []byte(`"$1":0`))
	got = append(bytes.TrimSpace(got), '\n')
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}
