package openai

import "hash/maphash"

// textDigest recognizes streamed text without keeping it.
type textDigest struct {
	length int
	hash   maphash.Hash
}

func (d *textDigest) add(piece string) {
	d.length += len(piece)
	_, _ = d.hash.WriteString(piece) // never fails
}

func (d *textDigest) reset() {
	d.length = 0
	d.hash.Reset()
}

// isBeginningOf reports whether a text starts with the streamed text.
func (d *textDigest) isBeginningOf(text string) bool {
	if d.length == 0 || d.length > len(text) {
		return false
	}
	return maphash.String(d.hash.Seed(), text[:d.length]) == d.hash.Sum64()
}
