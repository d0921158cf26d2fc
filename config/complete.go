package config

import (
	"slices"

	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/diag"
)

// Complete merges the findings of loading and building, in display order. Each diagnostic gets its
// position in the files from its path. Consequences of loading errors and repetitions are dropped.
// Secret values are removed from the texts, and diagnostics suppressed by comments are dropped.
func (f *File) Complete(load, build diag.List) diag.List {
	if f.isEdited() {
		return f.completeEdited(build)
	}
	shown, _, _ := f.applyIgnores(f.mergeFindings(load, build))
	return shown
}

// CompleteAll is Complete for a check of everything that the files define: it also returns
// suppressed diagnostics, and reports comments that are wrong or suppress nothing.
func (f *File) CompleteAll(load, build diag.List) (diag.List, []diag.Suppressed) {
	all := f.mergeFindings(load, build)
	shown, suppressed, used := f.applyIgnores(all)
	wrong := f.checkIgnores(all, used)
	if len(wrong) > 0 {
		f.tree.Redactor.RedactDiagnostics(wrong)
		shown = append(shown, wrong...)
		shown.Sort(f.tree.FileNames())
	}
	return shown, suppressed
}

// mergeFindings is Complete without handling comments.
func (f *File) mergeFindings(load, build diag.List) diag.List {
	causes := newCauses(load)
	causes.meant = f.tree.Meant
	for id := range f.unextended {
		causes.below[diag.Key("agents", id)] = true // its inheritance is unknown
	}
	causes.addMissingRegistries(f.tree.Root)
	list := slices.Clone(load)
	for _, d := range build {
		if !f.Partial && !causes.coversFinding(d) {
			list = append(list, d)
		}
	}
	for i := range list {
		f.tree.FillSpans(&list[i])
	}
	f.nameGroups(list)
	f.tree.NameCharacters(list)
	f.tree.Redactor.RedactDiagnostics(list)
	list = onePerPlace(list.Dedup())
	list.Sort(f.tree.FileNames())
	return list
}

// onePerPlace drops diagnostics that repeat another one at the same file position under a different
// path: a mistake in an anchored value is one mistake, however often the anchor is used.
func onePerPlace(list diag.List) diag.List {
	type key struct {
		code    diag.Code
		message string
		span    diag.Span
	}
	seen := make(map[key]int, len(list))
	out := list[:0:0]
	for _, d := range list {
		k := key{d.Code, d.Message, d.Span}
		if i, ok := seen[k]; ok && d.Line > 0 {
			sameAgent := out[i].Agent == d.Agent
			if len(d.Related) < len(out[i].Related) {
				out[i] = d // at the agent that others inherit it from
			}
			if !sameAgent {
				out[i].Agent = ""
			}
			continue
		}
		seen[k] = len(out)
		out = append(out, d)
	}
	return out
}

// dropConsequent removes the other diagnostics of values that are invalid YAML, such as one with an
// unsupported tag, whose type is unknown.
func dropConsequent(list diag.List) diag.List {
	unreadable := map[diag.Span]bool{}
	for _, d := range list {
		if d.Code == diag.InvalidYAML {
			unreadable[d.Span] = true
		}
	}
	return slices.DeleteFunc(list, func(d diag.Diagnostic) bool {
		return d.Code != diag.InvalidYAML && d.Line > 0 && unreadable[d.Span]
	})
}

// causes are the places of loading findings that later findings may follow from.
type causes struct {
	// at are the places themselves, and below those with a faulty value.
	at, below map[string]bool
	// inside are the fields that contain such a place, and component entries with an unset
	// variable.
	inside map[string]bool
	// meant are the fields that are present under a misspelled name.
	meant map[string]bool
	consequences
}

func newCauses(load diag.List) *causes {
	c := &causes{at: map[string]bool{}, below: map[string]bool{}, inside: map[string]bool{}, consequences: newConsequences()}
	for i := range load {
		d := &load[i]
		unset := d.Code == diag.UnsetVariable
		if d.Path == "" || d.Severity != diag.Error && !unset {
			continue
		}
		c.at[d.Path] = true
		if !d.Code.MarksKey() {
			c.below[d.Path] = true
		}
		c.addEnclosingFields(d.Path, unset)
		c.addFinding(d)
	}
	return c
}

// addEnclosingFields records the fields around a place. A field belongs to an entry of a
// registry, or directly to the defaults or settings.
func (c *causes) addEnclosingFields(path string, unset bool) {
	segments, ok := diag.ParsePath(path)
	if !ok {
		return
	}
	from := 3
	switch {
	case segments[0].Key == "defaults", keys.SettingNamed(segments[0].Key) != nil:
		from = 2
	case unset && (segments[0].Key == "providers" || segments[0].Key == "tools" || segments[0].Key == "plugins"):
		from = 2 // creating a component from an empty value may fail entirely
	}
	for n := from; n < len(segments); n++ {
		c.inside[joinPath(segments[:n])] = true
	}
}

func joinPath(segments []diag.Segment) string {
	path := ""
	for _, s := range segments {
		if s.IsIndex {
			path = diag.Index(path, s.Index)
		} else {
			path = diag.Key(path, s.Key)
		}
	}
	return path
}

// coversFinding reports whether a building diagnostic repeats or follows from a loading diagnostic.
func (c *causes) coversFinding(d diag.Diagnostic) bool {
	if d.Path == "" {
		return false
	}
	if c.isConsequence(d) || c.at[d.Path] || c.inside[d.Path] || c.meant[d.Path] && d.Code == diag.MissingField {
		return true
	}
	if len(c.below) == 0 {
		return false
	}
	segments, ok := diag.ParsePath(d.Path)
	if !ok {
		return false
	}
	for n := 1; n < len(segments); n++ {
		if c.below[joinPath(segments[:n])] {
			return true
		}
	}
	return false
}
