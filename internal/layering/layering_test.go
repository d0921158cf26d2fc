// Package layering holds no code: its tests enforce the order of the packages.
package layering

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/agentruntime/agentruntime/"

// imports maps all packages that the module is built from, including third-party packages and the
// standard library, to their imports.
type imports map[string][]string

func TestPackagesImportOnlyWhatStandsBelowThem(t *testing.T) {
	t.Parallel()
	all := listImports(t)
	for _, p := range all.own() {
		from, ok := layerOf(p)
		if !ok {
			t.Errorf("%s belongs to no layer", p)
			continue
		}
		for _, imported := range all[module+p] {
			imported, own := strings.CutPrefix(imported, module)
			to, ok := layerOf(imported)
			switch {
			case !own || !ok:
			case slices.Index(layers, to) < slices.Index(layers, from):
				t.Errorf("%s imports %s, which stands above it", p, imported)
			case to == from && !related(p, imported) && !slices.Contains(siblings[p], imported):
				t.Errorf("%s imports its sibling %s", p, imported)
			}
		}
	}
}

func TestPackagesImportNothingThatARuleForbids(t *testing.T) {
	t.Parallel()
	all := listImports(t)
	for i := range rules {
		for _, chain := range all.violations(&rules[i]) {
			t.Errorf("%s: %s", strings.Join(chain, " imports "), rules[i].why)
		}
	}
}

// TestTheProgramLinksNoModuleOfTests keeps the program small.
func TestTheProgramLinksNoModuleOfTests(t *testing.T) {
	t.Parallel()
	for p := range listImports(t) {
		if slices.ContainsFunc(testModules, func(m string) bool { return within(p, m) }) {
			t.Errorf("the program is built with %s", p)
		}
	}
}

// TestTheListsNameWhatIsThere ensures that rules stay effective when packages are renamed.
func TestTheListsNameWhatIsThere(t *testing.T) {
	t.Parallel()
	all := listImports(t)
	named := append(slices.Clone(layers), slices.Collect(maps.Keys(siblings))...)
	for i := range rules {
		named = slices.Concat(named, rules[i].packages, rules[i].except, rules[i].own)
	}
	for _, p := range named {
		if !slices.ContainsFunc(all.own(), func(own string) bool { return within(own, p) }) {
			t.Errorf("there is no package %s", p)
		}
	}
	for p, allowed := range siblings {
		for _, imported := range allowed {
			if !slices.Contains(all[module+p], module+imported) {
				t.Errorf("%s may import %s, and does not", p, imported)
			}
		}
	}
	for i := range rules {
		for _, p := range rules[i].foreign {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(all)), func(path string) bool { return within(path, p) }) {
				t.Errorf("nothing is built with %s", p)
			}
		}
	}
}

// TestRulesFindWhatBreaksThem applies each kind of rule to imports that violate it.
func TestRulesFindWhatBreaksThem(t *testing.T) {
	t.Parallel()
	all := imports{
		module + "spec": {module + "internal/leaf"}, module + "internal/leaf": {"example.com/lib"}, "example.com/lib": {"net/http"}, "net/http": {"net"}, "net": nil,
		module + "model/web": {"net/http"}, module + "config": {"example.com/lib/v2", module + "model/web"}, "example.com/lib/v2": nil,
	}
	for _, tt := range []struct {
		rule rule
		want string
	}{
		{rule{packages: []string{"spec"}, foreign: []string{"net/http"}, indirectly: true}, "spec internal/leaf example.com/lib net/http"},
		{rule{packages: []string{"spec"}, foreign: []string{"net/http"}}, ""},
		{rule{packages: []string{"model"}, foreign: []string{"net"}}, "model/web net/http"},
		{rule{except: []string{"internal"}, foreign: []string{"example.com/lib"}}, "config example.com/lib/v2"},
		{rule{except: []string{"spec"}, own: []string{"model"}}, "config model/web"},
		{rule{own: []string{"model/we", "config"}}, ""},
	} {
		var got []string
		for _, chain := range all.violations(&tt.rule) {
			got = append(got, strings.Join(chain, " "))
		}
		if strings.Join(got, "; ") != tt.want {
			t.Errorf("%+v finds %q, want %q", tt.rule, got, tt.want)
		}
	}
}

// TestOnlyAncestorsAndTheirInternalsAreRelated checks the allowed imports within a layer.
func TestOnlyAncestorsAndTheirInternalsAreRelated(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		from, to string
		want     bool
	}{
		{"store/sqlite", "store", true},
		{"store/postgres", "store/postgres/internal/db", true},
		{"model/openai", "model/internal/vendorhttp", true},
		{"model/internal/vendorhttp", "model", true},
		{"store/postgres/internal/db", "store/postgres/internal/instant", true},
		{"store/sqlite", "store/memory", false},
		{"store", "store/memory", false},
		{"internal/a", "internal/b", false},
		{"internal/a", "internal/a/internal/b", true},
		{"internal/a", "internal/ab", false},
	} {
		if got := related(tt.from, tt.to); got != tt.want {
			t.Errorf("related(%s, %s) = %t", tt.from, tt.to, got)
		}
	}
}

// violations returns, for each package that violates the rule, the import chain: the package first,
// then its import, and so on to the forbidden package.
func (all imports) violations(r *rule) [][]string {
	var found [][]string
	for _, p := range all.own() {
		if len(r.packages) > 0 && !withinAny(p, r.packages) || withinAny(p, r.except) {
			continue
		}
		chain := all.chain(module+p, r.indirectly, func(path string) bool {
			if own, ok := strings.CutPrefix(path, module); ok {
				return slices.ContainsFunc(r.own, func(tree string) bool { return within(own, tree) && !within(p, tree) })
			}
			return withinAny(path, r.foreign)
		})
		if chain != nil {
			found = append(found, chain)
		}
	}
	return found
}

// chain returns the shortest path from a package to a forbidden one, or nil if
// none.
func (all imports) chain(from string, indirectly bool, forbidden func(string) bool) []string {
	importer := map[string]string{from: ""}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		for _, path := range all[queue[0]] {
			if _, seen := importer[path]; seen {
				continue
			}
			importer[path] = queue[0]
			if forbidden(path) {
				var way []string
				for at := path; at != ""; at = importer[at] {
					way = append(way, strings.TrimPrefix(at, module))
				}
				slices.Reverse(way)
				return way
			}
			if indirectly {
				queue = append(queue, path)
			}
		}
	}
	return nil
}

// own returns the packages of the module, in order and without the module path.
func (all imports) own() []string {
	var list []string
	for path := range all {
		if p, ok := strings.CutPrefix(path, module); ok {
			list = append(list, p)
		}
	}
	slices.Sort(list)
	return list
}

// layerOf returns the layer that a package belongs to.
func layerOf(p string) (string, bool) {
	for !slices.Contains(layers, p) {
		above := strings.LastIndexByte(p, '/')
		if above < 0 {
			return "", false
		}
		p = p[:above]
	}
	return p, true
}

// related reports whether a package of the same layer is an ancestor of another in the tree, or in
// an internal directory of that package or its ancestors.
func related(p, imported string) bool {
	internal := strings.LastIndex(imported, "/internal/")
	return within(p, imported) || internal >= 0 && within(p, imported[:internal])
}

// within reports whether a package equals another or is below it in the tree.
func within(p, tree string) bool { return p == tree || strings.HasPrefix(p, tree+"/") }

func withinAny(p string, trees []string) bool {
	return slices.ContainsFunc(trees, func(tree string) bool { return within(p, tree) })
}

// listImports runs the go command, once for all tests. It reads the package directories, so that
// cached test results are invalidated by changes in them.
func listImports(t *testing.T) imports {
	t.Helper()
	all, err := listed()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var listed = sync.OnceValues(func() (imports, error) {
	out, err := exec.Command("go", "list", "-e", "-deps", "-json=ImportPath,Dir,Imports", module+"...").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	all := imports{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Dir string
			Imports         []string
		}
		switch err := dec.Decode(&p); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		all[p.ImportPath] = p.Imports
		if !strings.HasPrefix(p.ImportPath, module) {
			continue
		}
		for _, dir := range []string{p.Dir, filepath.Dir(p.Dir)} {
			if _, err := os.ReadDir(dir); err != nil {
				return nil, err
			}
		}
	}
})
