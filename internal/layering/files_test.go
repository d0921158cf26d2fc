package layering

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// maxUpward is the percentage of the uses between the files of a package that may point upward in
// the best order of its files. One such use is always allowed.
const maxUpward = 12

// uses maps each file of a package to the files that it uses declarations of.
type uses map[string]map[string]bool

// TestFilesUseFilesBelowThem ensures that the files of each package have an order in which nearly
// all of them use only files below them, so that a reader can start at the bottom.
func TestFilesUseFilesBelowThem(t *testing.T) {
	t.Parallel()
	loaded, err := packages.Load(&packages.Config{
		Context: t.Context(), Mode: packages.LoadSyntax, Dir: "../..",
	}, "./...")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range loaded {
		for _, err := range p.Errors {
			t.Errorf("%s: %v", p.PkgPath, err)
		}
		between := usesOf(p)
		upward := between.upward(between.order())
		if n := between.count(); len(upward) > 1 && len(upward)*100 > maxUpward*n {
			t.Errorf("%s: %d of %d uses between files point upward, and at most %d %% may: %s",
				strings.TrimPrefix(p.PkgPath, module), len(upward), n, maxUpward, strings.Join(upward, ", "))
		}
	}
}

func TestTheOrderOfFilesFollowsTheirUses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		uses   uses
		order  string
		upward string
	}{
		{"a chain", uses{"a": {"b": true}, "b": {"c": true}}, "c b a", ""},
		{"a file that nothing uses stands on top", uses{"a": {"b": true, "c": true}, "b": {"c": true}}, "c b a", ""},
		{"a circle breaks at one use", uses{"a": {"b": true}, "b": {"c": true}, "c": {"a": true}}, "b a c", "b uses c"},
		{
			"the pair of files that use each other stays together",
			uses{"a": {"b": true, "d": true}, "b": {"a": true, "c": true}, "c": {"d": true}}, "d c a b", "a uses b",
		},
	} {
		order := tt.uses.order()
		if got := strings.Join(order, " "); got != tt.order {
			t.Errorf("%s: the order is %s, want %s", tt.name, got, tt.order)
		}
		if got := strings.Join(tt.uses.upward(order), ", "); got != tt.upward {
			t.Errorf("%s: upward: %q, want %q", tt.name, got, tt.upward)
		}
	}
}

// usesOf returns the uses between the files of a package: of its types, functions, methods,
// variables and constants, but not of fields.
func usesOf(p *packages.Package) uses {
	between := uses{}
	fileOf := func(n interface{ Pos() token.Pos }) string {
		return filepath.Base(p.Fset.Position(n.Pos()).Filename)
	}
	for _, file := range p.Syntax {
		from := fileOf(file)
		ast.Inspect(file, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			object := p.TypesInfo.Uses[id]
			if f, ok := object.(*types.Func); ok {
				object = f.Origin()
			}
			if object == nil || object.Pkg() != p.Types || !isDeclared(object) {
				return true
			}
			if to := fileOf(object); to != from {
				if between[from] == nil {
					between[from] = map[string]bool{}
				}
				between[from][to] = true
			}
			return true
		})
	}
	return between
}

// isDeclared reports whether an object is declared at package level, or is a method.
func isDeclared(object types.Object) bool {
	if f, ok := object.(*types.Func); ok {
		return f.Signature().Recv() == nil || !types.IsInterface(f.Signature().Recv().Type())
	}
	return object.Parent() == object.Pkg().Scope()
}

func (u uses) count() int {
	n := 0
	for _, used := range u {
		n += len(used)
	}
	return n
}

// files returns the names of the files, in alphabetical order.
func (u uses) files() []string {
	var names []string
	for from, used := range u {
		names = append(names, from)
		for to := range used {
			names = append(names, to)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// order returns the files from bottom to top, with few upward uses: the best of some orders, in each
// of which no file has a better place.
func (u uses) order() []string {
	start := u.files()
	var best []string
	for random, n := rand.New(rand.NewPCG(1, 2)), 0; n < 20; n++ {
		if files := u.improve(start); best == nil || len(u.upward(files)) < len(u.upward(best)) {
			best = files
		}
		random.Shuffle(len(start), func(i, j int) { start[i], start[j] = start[j], start[i] })
	}
	return best
}

// improve moves each file to its best place, until no move helps.
func (u uses) improve(start []string) []string {
	files := slices.Clone(start)
	slices.SortStableFunc(files, func(a, b string) int { return cmp.Compare(len(u[a]), len(u[b])) })
	for better := true; better; {
		better = false
		for _, file := range slices.Clone(files) {
			from := slices.Index(files, file)
			if to := u.bestPlace(files, from); to != from {
				files = slices.Insert(slices.Delete(files, from, from+1), to, file)
				better = true
			}
		}
	}
	return files
}

// bestPlace returns the index at which a file has the fewest upward uses, or its own index if no
// other is better.
func (u uses) bestPlace(files []string, from int) int {
	// change is the number of upward uses that the move to an index adds.
	best, place := 0, from
	for _, step := range []int{-1, 1} {
		change := 0
		for to := from + step; to >= 0 && to < len(files); to += step {
			above, below := files[from], files[to]
			if step > 0 {
				above, below = below, above
			}
			if u[above][below] {
				change++
			}
			if u[below][above] {
				change--
			}
			if change < best {
				best, place = change, to
			}
		}
	}
	return place
}

// upward returns the uses of files that stand above their users.
func (u uses) upward(order []string) []string {
	var found []string
	for i, below := range order {
		for _, above := range order[i+1:] {
			if u[below][above] {
				found = append(found, below+" uses "+above)
			}
		}
	}
	return found
}
