// Package layering holds no code: its test keeps the order of the packages.
package layering

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/agentruntime/agentruntime/"

// order is the house from top to bottom: a package imports only what stands
// below it. A package that is not listed belongs to the nearest listed one
// above it in the tree.
var order = []string{
	"cmd",
	"app",
	"server",
	"builder",
	"config",
	"runtime",
	"dispatch",
	"store",
	"resolve",
	"registry",
	"backend",
	"plugins",
	"tools",
	"telemetry",
	"internal/a2awire",
	"model",
	"event",
	"spec",
	"diag",
	"internal",
}

type goPackage struct {
	ImportPath string
	Imports    []string
}

func TestPackagesImportOnlyWhatStandsBelowThem(t *testing.T) {
	for _, p := range listPackages(t) {
		from, ok := layer(p.ImportPath)
		if !ok {
			continue
		}
		for _, imported := range p.Imports {
			to, ok := layer(imported)
			if !ok || to == from {
				continue
			}
			if slices.Index(order, to) < slices.Index(order, from) {
				t.Errorf("%s imports %s, which stands above it", short(p.ImportPath), short(imported))
			}
		}
	}
}

func TestImplementationsAreNamedInOnePlace(t *testing.T) {
	implementations := []string{
		"model/anthropic", "model/google", "model/openai", "model/scripted", "tools/http", "tools/command", "tools/mcp", "tools/ask", "plugins/permission", "plugins/log",
		"backend/a2a", "store/memory", "store/sqlite", "store/postgres", "dispatch/local", "dispatch/river", "server/a2a",
	}
	for _, p := range listPackages(t) {
		if short(p.ImportPath) == "app/shipped" {
			continue
		}
		for _, imported := range p.Imports {
			if slices.Contains(implementations, short(imported)) {
				t.Errorf("%s imports %s: an implementation is named in app/shipped/shipped.go and in tests alone", short(p.ImportPath), short(imported))
			}
		}
	}
}

// layer returns the entry of order that a package belongs to.
func layer(path string) (string, bool) {
	rel, ok := strings.CutPrefix(path, module)
	if !ok {
		return "", false
	}
	for !slices.Contains(order, rel) {
		above := strings.LastIndexByte(rel, '/')
		if above < 0 {
			return rel, false
		}
		rel = rel[:above]
	}
	return rel, true
}

func short(path string) string { return strings.TrimPrefix(path, module) }

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Imports", module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []goPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		t.Fatal("go list found no package")
	}
	return all
}
