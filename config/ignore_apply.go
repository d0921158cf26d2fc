package config

import (
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/diag"
)

// An ignoredLine is what a comment silences: one code on one line of a file.
type ignoredLine struct {
	file string
	line int
	code diag.Code
}

// applyIgnores splits a list into what is shown and what comments silence, and says
// which of them silence anything. Errors are always shown.
func (f *File) applyIgnores(list diag.List) (shown diag.List, suppressed []diag.Suppressed, used map[ignoredLine]bool) {
	reasons := f.ignoredLines()
	if len(reasons) == 0 {
		return list, nil, nil
	}
	used = make(map[ignoredLine]bool)
	for _, d := range list {
		at := ignoredLine{d.File, d.Line, d.Code}
		reason, ignored := reasons[at]
		if !ignored || d.Severity != diag.Warning && d.Severity != diag.Note {
			shown = append(shown, d)
			continue
		}
		used[at] = true
		suppressed = append(suppressed, diag.Suppressed{Diagnostic: d, Reason: maskCredentials(f.Redact(reason))})
	}
	return shown, suppressed, used
}

// ignoredLines returns what comments silence, with their reasons.
func (f *File) ignoredLines() map[ignoredLine]string {
	var reasons map[ignoredLine]string
	for _, doc := range f.documents {
		for _, c := range doc.ignoresOf() {
			for _, code := range c.codes {
				if reasons == nil {
					reasons = map[ignoredLine]string{}
				}
				if at := (ignoredLine{doc.name, c.line, code}); c.line > 0 && reasons[at] == "" {
					reasons[at] = c.reason
				}
			}
		}
	}
	return reasons
}

// checkIgnores returns what is wrong with the comments of the files. Whether a comment
// silences nothing is known only when all was found that there is to find, and when it
// is the same on every machine.
func (f *File) checkIgnores(list diag.List, used map[ignoredLine]bool) diag.List {
	complete := !f.Partial && !list.HasErrors()
	unknownTools := slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return d.Code == diag.NoCatalog })
	isError := make(map[ignoredLine]bool)
	for _, d := range list.Errors() {
		isError[ignoredLine{d.File, d.Line, d.Code}] = true
	}
	var found diag.List
	for _, doc := range f.documents {
		for _, c := range doc.ignoresOf() {
			c.faults = slices.Clip(c.faults)
			for _, code := range c.codes {
				at := ignoredLine{doc.name, c.line, code}
				switch {
				case used[at] || ofTheMachine(code, unknownTools):
				case isError[at]:
					c.addFault(fmt.Sprintf("%s is an error here; only warnings and infos can be ignored", code), "mend the error and remove the comment")
				case complete:
					c.addFault(fmt.Sprintf("there is no %s to ignore on %s", code, c.describeLine()), "remove the comment, or put it on the line of the diagnostic or alone on the one before")
				}
			}
			found = append(found, c.faults...)
		}
	}
	return found
}

// describeLine names the line that the comment speaks of.
func (c *ignore) describeLine() string {
	switch c.line {
	case c.span.Line:
		return "this line"
	case 0:
		return "the line after the comment"
	default:
		return fmt.Sprintf("line %d", c.line)
	}
}

// ofTheMachine reports whether a diagnostic of a code depends on the machine: on its
// variables, and on the catalogues of servers that it knows. While a catalogue is
// unknown, so is what could be said about its tools.
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
