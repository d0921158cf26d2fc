package vendorhttp

import "bytes"

// surrogateLength is the length of an escaped surrogate in JSON, as in \ud83d.
const surrogateLength = len(`\ud83d`)

// joinSurrogates repairs a character that a server split between the texts of two
// events: it moves the escaped first half from the end of one text to the beginning of
// the next that starts with a second half. A first half without a second is dropped.
func (r *eventReader) joinSurrogates() {
	if len(r.half) == 0 && !bytes.Contains(r.event.Data, []byte(`\ud`)) && !bytes.Contains(r.event.Data, []byte(`\uD`)) {
		return
	}
	if len(r.half) > 0 {
		if i := findSurrogate(r.event.Data, 'c', 'f', func(i int) bool { return i > 0 && r.event.Data[i-1] == '"' }); i >= 0 {
			r.event.Data = append(r.event.Data[:i], append(bytes.Clone(r.half), r.event.Data[i:]...)...)
			r.half = r.half[:0]
		}
	}
	i := findSurrogate(r.event.Data, '8', 'b', func(i int) bool {
		end := i + surrogateLength
		return end < len(r.event.Data) && r.event.Data[end] == '"'
	})
	if i >= 0 {
		r.half = append(r.half[:0], r.event.Data[i:i+surrogateLength]...)
		r.event.Data = append(r.event.Data[:i], r.event.Data[i+surrogateLength:]...)
	}
}

// findSurrogate returns the position of the first escaped surrogate whose third digit lies in a
// range and whose position satisfies wanted, or -1.
func findSurrogate(data []byte, low, high byte, wanted func(int) bool) int {
	for i := 0; i+surrogateLength <= len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		if kind := data[i+3] | ' '; data[i+1] == 'u' && data[i+2]|' ' == 'd' && low <= kind && kind <= high && wanted(i) {
			return i
		}
		i++ // the escaped character may be a backslash
	}
	return -1
}
