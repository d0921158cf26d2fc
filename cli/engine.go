package cli

import (
	"errors"

	"github.com/agentruntime/agentruntime/diag"
	"go.uber.org/zap"
)

// errVolatile reports that an in-memory store cannot be read by another process.
var errVolatile = errors.New("the memory store belongs to the process that serves it and cannot be read from outside: use store: {driver: sqlite} or {driver: postgres}")

// loadStore reads files for a command that needs their store.
func (p *program) loadStore(files []string) (*loaded, error) {
	return p.loadSection(files, "store", false)
}

// loadSection reads files for a command that needs one section of them, and shows problems with the
// section. Problems with agents are ignored.
func (p *program) loadSection(files []string, section string, live bool) (*loaded, error) {
	l, err := p.load(files, live, zap.NewNop())
	if err != nil {
		return nil, err
	}
	var wrong diag.List
	for _, d := range l.file.Complete(l.found, nil) {
		about := within(d.Path, section)
		if about && d.Code == diag.UnsetVariable {
			d.Severity = diag.Error
		}
		if d.Severity == diag.Error && (about || l.file.Partial) {
			wrong = append(wrong, d)
		}
	}
	if len(wrong) > 0 {
		l.close()
		return nil, failed(l.refuse(wrong, p.err))
	}
	return l, nil
}
