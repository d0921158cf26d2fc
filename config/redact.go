package config

// Redact returns text without the values of variables and included files, and
// without the secrets of the configuration. Values of six bytes and more are
// replaced wherever they occur, shorter ones where they stand in quotes.
func (f *File) Redact(text string) string { return f.tree.Redactor.Redact(text) }

// Source returns the text of a file for display. Secrets in it are replaced by asterisks of the
// same length, so columns do not change. It returns nil if the file is unknown or was not text.
func (f *File) Source(name string) []byte {
	for _, doc := range f.tree.Documents {
		if doc.Name == name {
			return doc.RedactedText()
		}
	}
	return nil
}
