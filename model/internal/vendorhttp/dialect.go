package vendorhttp

// Dialect describes the vendor's requests as a provider's server accepts them.
type Dialect struct {
	// Omit are the optional fields that requests leave out.
	Omit []string
	// Names maps standard field names to the server's names.
	Names map[string]string
}

func (d *Dialect) edit(e *bodyEdit) {
	if d == nil {
		return
	}
	for _, name := range d.Omit {
		if f := findOptional(name); f != nil && f.renamed == "" {
			f.leaveOut(e)
			continue
		}
		e.omitPath(name)
	}
	for from, to := range d.Names {
		e.renameMember(from, to)
	}
}
