package document

import "bytes"

// DifferingParts returns two documents with the sections that differ, and of registries the
// entries that differ.
func DifferingParts(was, now *Layout) (old, fresh []byte) {
	old, fresh = []byte(`{"version":1`), []byte(`{"version":1`)
	for i := range was.Sections {
		if now.Section(was.Sections[i].Name) == nil {
			old = was.appendMember(old, was.Sections[i].At)
		}
	}
	for i := range now.Sections {
		after := &now.Sections[i]
		before := was.Section(after.Name)
		switch {
		case before == nil:
			fresh = now.appendMember(fresh, after.At)
		case bytes.Equal(was.ValueOf(before.At), now.ValueOf(after.At)):
		case len(before.Entries) == 0 || len(after.Entries) == 0:
			old, fresh = was.appendMember(old, before.At), now.appendMember(fresh, after.At)
		default:
			gone, come := differingEntries(was, now, before.Entries, after.Entries)
			old, fresh = was.appendEntries(old, before, gone), now.appendEntries(fresh, after, come)
		}
	}
	return append(old, '}'), append(fresh, '}')
}

// differingEntries returns both sides' entries without the equal ones in the same order. If the
// order differs it may return some equal ones too.
func differingEntries(was, now *Layout, before, after []Member) (gone, come []Member) {
	n := 0
	for _, old := range before {
		if n == len(after) || !bytes.Equal(was.keyOf(old), now.keyOf(after[n])) {
			gone = append(gone, old)
			continue
		}
		if !bytes.Equal(was.ValueOf(old), now.ValueOf(after[n])) {
			gone, come = append(gone, old), append(come, after[n])
		}
		n++
	}
	return gone, append(come, after[n:]...)
}

// appendEntries appends a section with some of its entries.
func (l *Layout) appendEntries(to []byte, s *Section, entries []Member) []byte {
	if len(entries) == 0 {
		return to
	}
	to = append(append(append(to, ','), l.Text[s.At.Key:s.At.KeyEnd]...), ':')
	for i, m := range entries {
		to = append(append(to, "{,"[min(i, 1)]), l.Text[m.Key:m.End]...)
	}
	return append(to, '}')
}

// appendMember appends a member of the document.
func (l *Layout) appendMember(to []byte, m Member) []byte {
	return append(append(to, ','), l.Text[m.Key:m.End]...)
}
