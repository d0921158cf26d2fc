package scripted

import (
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
)

// ScriptError lists all faults of a script.
type ScriptError struct {
	// Faults are in file order. If no file was read, they have only a path in the script, such as
	// replies[0].error.class.
	Faults diag.List
}

// Error returns the faults, one per line: the location, as file:line:column or as a path, and the
// problem.
func (e *ScriptError) Error() string {
	lines := make([]string, len(e.Faults))
	for i := range e.Faults {
		lines[i] = faultText(&e.Faults[i])
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the faults.
func (e *ScriptError) Unwrap() []error {
	errs := make([]error, len(e.Faults))
	for i, d := range e.Faults {
		errs[i] = d
	}
	return errs
}

func faultText(d *diag.Diagnostic) string {
	place := d.Path
	switch {
	case d.Line > 0:
		place = d.File + ":" + strconv.Itoa(d.Line) + ":" + strconv.Itoa(d.Column)
	case d.File != "":
		place = d.File
	}
	text := place + ": " + d.Message
	if d.Hint != "" {
		text += " (" + d.Hint + ")"
	}
	return text
}
