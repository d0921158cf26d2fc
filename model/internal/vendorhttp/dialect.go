package vendorhttp

// Dialect describes the deviations of a provider's server from the vendor's requests.
type Dialect struct {
	// Omit are the optional fields omitted from requests.
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
