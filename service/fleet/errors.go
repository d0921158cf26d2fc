package fleet

import (
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
)

// ErrFromFiles reports that the process's files define the runtime, so nothing else can be
// published.
var ErrFromFiles = errors.New("the configuration comes from files: change them, or set revisions.source to store")

// ErrNotStored reports that the store does not have the revision that the process runs,
// because its files contain secrets.
var ErrNotStored = errors.New("the configuration is not in the store: its files contain secrets, or none was published")

// ErrNoTenants reports that the base does not allow tenant overlays.
var ErrNoTenants = config.ErrNoTenants

// InvalidError reports a document with errors.
type InvalidError struct {
	// Findings are all findings, including warnings and notes.
	Findings diag.List
}

// Error lists the errors.
func (e *InvalidError) Error() string { return e.Findings.Err().Error() }

// NotFoundError reports that an entry or revision does not exist.
type NotFoundError struct {
	// Kind is the registry of the entry, or "revision".
	Kind, ID string
}

// Error names it.
func (e *NotFoundError) Error() string { return fmt.Sprintf("%s %q not found", e.Kind, e.ID) }

// InUseError reports an entry that cannot be removed because others refer to it.
type InUseError struct {
	Kind, ID string
	// UsedBy lists the places of the references.
	UsedBy []string
}

// Error names the first reference.
func (e *InUseError) Error() string {
	text := fmt.Sprintf("%s %q is in use by %s", e.Kind, e.ID, e.UsedBy[0])
	if n := len(e.UsedBy) - 1; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}
