package process

import (
	"strconv"
	"strings"
)

// Line returns a command as one line for a person, with quotes around the arguments
// that could be read as two or as none.
func Line(command []string) string {
	words := make([]string, len(command))
	for i, word := range command {
		if words[i] = word; word == "" || strings.ContainsAny(word, " \t\n\"'\\") {
			words[i] = strconv.Quote(word)
		}
	}
	return strings.Join(words, " ")
}
