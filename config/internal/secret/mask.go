package secret

import "slices"

// Shown replaces a secret written in the file.
const Shown = "***"

// MaskCredentials masks everything that looks like a credential.
func MaskCredentials(text string) string {
	found := append(FindCredentials([]byte(text)), FindURLParts([]byte(text))...)
	slices.SortFunc(found, func(a, b [2]int) int { return b[0] - a[0] })
	end := len(text)
	for _, at := range found {
		if at[1] <= end {
			text, end = text[:at[0]]+Shown+text[at[1]:], at[0]
		}
	}
	return text
}

// MaskRanges returns data with each character of the ranges replaced by an asterisk.
// It keeps white space, and with it the shape of the text.
func MaskRanges(data []byte, ranges [][2]int) []byte {
	if len(ranges) == 0 {
		return data
	}
	slices.SortFunc(ranges, func(a, b [2]int) int { return a[0] - b[0] })
	out := make([]byte, 0, len(data))
	done := 0
	for _, r := range ranges {
		from, to := max(r[0], done), r[1]
		if from >= to || onlyReference.Match(data[from:to]) {
			continue
		}
		out = append(out, data[done:from]...)
		for _, c := range string(data[from:to]) {
			if c == '\n' || c == '\r' || c == ' ' || c == '\t' {
				out = append(out, byte(c))
			} else {
				out = append(out, '*')
			}
		}
		done = to
	}
	return append(out, data[done:]...)
}
