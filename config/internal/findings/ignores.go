package findings

import (
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/config/internal/secret"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
)

// An IgnoredLine is a suppression by a comment: one code on one line of a file.
type IgnoredLine struct {
	file string
	line int
	code diag.Code
}

// ApplyIgnores splits a list into shown and suppressed diagnostics, and returns the comments that
// suppress any. Errors are always shown.
func ApplyIgnores(t *tree.Tree, list diag.List) (shown diag.List, suppressed []diag.Suppressed, used map[IgnoredLine]bool) {
	reasons := ignoredLines(t)
	if len(reasons) == 0 {
		return list, nil, nil
	}
	used = make(map[IgnoredLine]bool)
	for _, d := range list {
		at := IgnoredLine{d.File, d.Line, d.Code}
		reason, ignored := reasons[at]
		if !ignored || d.Severity != diag.Warning && d.Severity != diag.Note {
			shown = append(shown, d)
			continue
		}
		used[at] = true
		suppressed = append(suppressed, diag.Suppressed{Diagnostic: d, Reason: secret.MaskCredentials(t.Redactor.Redact(reason))})
	}
	return shown, suppressed, used
}

// ignoredLines returns the lines suppressed by comments, with the reasons.
func ignoredLines(t *tree.Tree) map[IgnoredLine]string {
	var reasons map[IgnoredLine]string
	for _, doc := range t.Documents {
		for _, c := range doc.Ignores() {
			for _, code := range c.Codes {
				if reasons == nil {
					reasons = map[IgnoredLine]string{}
				}
				if at := (IgnoredLine{doc.Name, c.Line, code}); c.Line > 0 && reasons[at] == "" {
					reasons[at] = c.Reason
				}
			}
		}
	}
	return reasons
}

// CheckIgnores returns the mistakes in the comments of the files. isComplete reports whether all files
// were read. A comment is reported as unused only if everything was checked, and only for codes that
// do not depend on the machine.
func CheckIgnores(t *tree.Tree, list diag.List, used map[IgnoredLine]bool, isComplete bool) diag.List {
	isComplete = isComplete && !list.HasErrors()
	unknownTools := slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return d.Code == diag.NoCatalog })
	isError := make(map[IgnoredLine]bool)
	for _, d := range list.Errors() {
		isError[IgnoredLine{d.File, d.Line, d.Code}] = true
	}
	var found diag.List
	for _, doc := range t.Documents {
		for _, c := range doc.Ignores() {
			c.Faults = slices.Clip(c.Faults)
			for _, code := range c.Codes {
				at := IgnoredLine{doc.Name, c.Line, code}
				switch {
				case used[at] || ofTheMachine(code, unknownTools):
				case isError[at]:
					c.AddFault(fmt.Sprintf("%s is an error here; only warnings and infos can be ignored", code), "fix the error and remove the comment")
				case isComplete:
					c.AddFault(fmt.Sprintf("no %s diagnostic to ignore on %s", code, c.DescribeLine()), "remove the comment, or put it on the line of the diagnostic or alone on the one before")
				}
			}
			found = append(found, c.Faults...)
		}
	}
	return found
}

// ofTheMachine reports whether diagnostics of a code depend on the machine: on its variables, and
// on its known server catalogs. While a catalog is unknown, so are findings about its tools.
func ofTheMachine(code diag.Code, unknownTools bool) bool {
	switch code {
	case diag.UnsetVariable, diag.NoCatalog:
		return true
	case diag.UnmatchedTool, diag.UnmatchedPattern, diag.OrphanPermissionRule, diag.InvalidCondition, diag.NoTools:
		return unknownTools
	default:
		return false
	}
}
