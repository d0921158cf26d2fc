package config

import "bytes"

// differingParts returns two documents with the sections that differ, and of registries the
// entries that differ.
func differingParts(was, now *layout) (old, fresh []byte) {
	old, fresh = []byte(`{"version":1`), []byte(`{"version":1`)
	for i := range was.sections {
		if now.section(was.sections[i].name) == nil {
			old = was.appendMember(old, was.sections[i].at)
		}
	}
	for i := range now.sections {
		after := &now.sections[i]
		before := was.section(after.name)
		switch {
		case before == nil:
			fresh = now.appendMember(fresh, after.at)
		case bytes.Equal(was.valueOf(before.at), now.valueOf(after.at)):
		case len(before.entries) == 0 || len(after.entries) == 0:
			old, fresh = was.appendMember(old, before.at), now.appendMember(fresh, after.at)
		default:
			gone, come := differingEntries(was, now, before.entries, after.entries)
			old, fresh = was.appendEntries(old, before, gone), now.appendEntries(fresh, after, come)
		}
	}
	return append(old, '}'), append(fresh, '}')
}

// differingEntries returns both sides' entries without the equal ones in the same order. If the
// order differs it may return some equal ones too.
func differingEntries(was, now *layout, before, after []span) (gone, come []span) {
	n := 0
	for _, old := range before {
		if n == len(after) || !bytes.Equal(was.keyOf(old), now.keyOf(after[n])) {
			gone = append(gone, old)
			continue
		}
		if !bytes.Equal(was.valueOf(old), now.valueOf(after[n])) {
			gone, come = append(gone, old), append(come, after[n])
		}
		n++
	}
	return gone, append(come, after[n:]...)
}

// appendEntries appends a section with some of its entries.
func (l *layout) appendEntries(to []byte, s *placedSection, entries []span) []byte {
	if len(entries) == 0 {
		return to
	}
	to = append(append(append(to, ','), l.text[s.at.key:s.at.keyEnd]...), ':')
	for i, m := range entries {
		to = append(append(to, "{,"[min(i, 1)]), l.text[m.key:m.end]...)
	}
	return append(to, '}')
}

// appendMember appends a member of the document.
func (l *layout) appendMember(to []byte, m span) []byte {
	return append(append(to, ','), l.text[m.key:m.end]...)
}
