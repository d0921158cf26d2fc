package process

import (
	"strconv"
	"strings"
)

// Line formats a command as one readable line, quoting arguments that could be read as several or
// as none.
func Line(command []string) string {
	words := make([]string, len(command))
	for i, word := range command {
		if words[i] = word; word == "" || strings.ContainsAny(word, " \t\n\"'\\") {
			words[i] = strconv.Quote(word)
		}
	}
	return strings.Join(words, " ")
}
