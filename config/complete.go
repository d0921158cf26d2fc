package config

import (
	"slices"

	"github.com/agentruntime/agentruntime/config/internal/findings"
	"github.com/agentruntime/agentruntime/diag"
)

// Complete merges the findings of loading and building, in display order. Each diagnostic gets its
// position in the files from its path. Consequences of loading errors and repetitions are dropped.
// Secret values are removed from the texts, and diagnostics suppressed by comments are dropped.
func (f *File) Complete(load, build diag.List) diag.List {
	if f.isEdited() {
		return f.completeEdited(build)
	}
	shown, _, _ := findings.ApplyIgnores(&f.tree, f.mergeFindings(load, build))
	return shown
}

// CompleteAll is Complete for a check of everything that the files define: it also returns
// suppressed diagnostics, and reports comments that are wrong or suppress nothing.
func (f *File) CompleteAll(load, build diag.List) (diag.List, []diag.Suppressed) {
	all := f.mergeFindings(load, build)
	shown, suppressed, used := findings.ApplyIgnores(&f.tree, all)
	wrong := findings.CheckIgnores(&f.tree, all, used, !f.Partial)
	if len(wrong) > 0 {
		f.tree.Redactor.RedactDiagnostics(wrong)
		shown = append(shown, wrong...)
		shown.Sort(f.tree.FileNames())
	}
	return shown, suppressed
}

// mergeFindings is Complete without handling comments.
func (f *File) mergeFindings(load, build diag.List) diag.List {
	causes := findings.NewCauses(load, &f.tree)
	for id := range f.unextended {
		causes.AddFaulty(diag.Key("agents", id)) // its inheritance is unknown
	}
	list := slices.Clone(load)
	for _, d := range build {
		if !f.Partial && !causes.Covers(d) {
			list = append(list, d)
		}
	}
	for i := range list {
		f.tree.FillSpans(&list[i])
	}
	f.nameGroups(list)
	f.tree.NameCharacters(list)
	f.tree.Redactor.RedactDiagnostics(list)
	list = findings.OnePerPlace(list.Dedup())
	list.Sort(f.tree.FileNames())
	return list
}
