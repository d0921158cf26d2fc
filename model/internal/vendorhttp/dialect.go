package vendorhttp

// Dialect is what the server of a provider takes of a vendor's requests.
type Dialect struct {
	// Omit are the optional fields that requests leave out.
	Omit []string
	// Names are what the server calls fields, by their usual names.
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
