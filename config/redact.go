package config

import "github.com/agentruntime/agentruntime/config/internal/secret"

// Redact returns text without the values of variables and included files, and
// without the secrets of the configuration. Values of six bytes and more are
// replaced wherever they occur, shorter ones where they stand in quotes.
func (f *File) Redact(text string) string { return f.tree.redactor.Redact(text) }

// Source returns the text of a file for display. Secrets in it are replaced by asterisks of the
// same length, so columns do not change. It returns nil if the file is unknown or was not text.
func (f *File) Source(name string) []byte {
	for _, doc := range f.tree.documents {
		if doc.Name == name {
			return doc.redactedText()
		}
	}
	return nil
}

func (doc *sourceFile) redactedText() []byte {
	var ranges [][2]int
	if doc.Root == nil {
		ranges = secret.FindNamed(doc.Data)
	}
	ranges = append(append(ranges, secret.FindCredentials(doc.Data)...), secret.FindURLParts(doc.Data)...)
	for _, n := range doc.secrets {
		from, to := doc.NodeRange(n)
		ranges = append(ranges, [2]int{from, to})
	}
	return secret.MaskRanges(doc.Data, ranges)
}
