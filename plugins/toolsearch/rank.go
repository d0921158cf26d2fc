package toolsearch

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
)

// The scores of a query word by where it matches. The name of a server's tool is split into the
// server and its operation.
const (
	weightServer      = 12
	weightOperation   = 9
	weightParameter   = 5
	weightDescription = 4
	// weightName is for a query that is the whole name of the tool.
	weightName = 100
)

// Rank returns the tools that match a query, best first, with ties ordered by name. Every tool
// matches a query without words.
func Rank(all []model.Tool, query string) []model.Tool {
	words := wordsOf(query)
	whole := strings.ToLower(strings.TrimSpace(query))
	type ranked struct {
		tool  model.Tool
		score int
	}
	var list []ranked
	for _, tool := range all {
		score := scoreTool(&tool, words)
		if whole != "" && strings.ToLower(tool.Name) == whole {
			score += weightName
		}
		if score > 0 || len(words) == 0 {
			list = append(list, ranked{tool, score})
		}
	}
	slices.SortStableFunc(list, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.tool.Name, b.tool.Name))
	})
	out := make([]model.Tool, len(list))
	for i := range list {
		out[i] = list[i].tool
	}
	return out
}

// scoreTool returns the score of a tool for the words.
func scoreTool(tool *model.Tool, words map[string]bool) int {
	if len(words) == 0 {
		return 0
	}
	server, operation := "", tool.Name
	if at := strings.LastIndex(tool.Name, "__"); at >= 0 {
		server, operation = tool.Name[:at], tool.Name[at+2:]
	}
	fields := []struct {
		weight int
		words  map[string]bool
	}{
		{weightServer, wordsOf(server)}, {weightOperation, wordsOf(operation)},
		{weightParameter, wordsOf(strings.Join(parameterNames(tool.Parameters), " "))}, {weightDescription, wordsOf(tool.Description)},
	}
	score := 0
	for word := range words {
		for _, f := range fields {
			if f.words[word] || hasPrefix(f.words, word) {
				score += f.weight
			}
		}
	}
	return score
}

// minPrefix is the minimum length of a word to match as a prefix.
const minPrefix = 4

// hasPrefix reports whether word is a prefix of one of words or vice versa, so that weather finds
// weathers and weathers finds weather.
func hasPrefix(words map[string]bool, word string) bool {
	for other := range words {
		if min(len(other), len(word)) >= minPrefix && (strings.HasPrefix(other, word) || strings.HasPrefix(word, other)) {
			return true
		}
	}
	return false
}

// parameterNames returns the names of the properties of a schema.
func parameterNames(raw json.RawMessage) []string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(raw, &s) != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.Properties))
}

// wordsOf returns the words of a text in lower case: runs of letters and digits, and the
// parts of names in camel case.
func wordsOf(text string) map[string]bool {
	var b strings.Builder
	lower := false
	for _, r := range text {
		if unicode.IsUpper(r) && lower {
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(r) || unicode.IsDigit(r)
		b.WriteRune(unicode.ToLower(r))
	}
	words := make(map[string]bool)
	for _, word := range strings.FieldsFunc(b.String(), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		words[word] = true
	}
	return words
}

// maxShown is the number of bytes of a description that a search shows.
const maxShown = 300

// clipText returns the beginning of a description.
func clipText(text string) string { return clip.Head(text, maxShown) }
