package layering

import (
	"go/ast"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// maxPhrases is the maximum number of translated phrases per 10,000 words of a package or page. A
// single phrase is always allowed.
const maxPhrases = 20

// translatedPhrases matches phrases that make a sentence read like a translation.
var translatedPhrases = regexp.MustCompile(`(?i)\b(?:(?:that|those) of|is no\b|is none|(?:goes|go|went) on|(?:comes|came|come) to|but for|in place of|of (?:its|their|his) own|is over|stands|stood|asked for|what (?:is|was|it|they|an?|the)|meanwhile|besides|ones? that)\b`)

// TestPhrasesAreRare counts translated phrases in the comments of each package, excluding tests and
// generated code, and in each page.
func TestPhrasesAreRare(t *testing.T) {
	t.Parallel()
	words, found := map[string]int{}, map[string][]string{}
	count := func(place, file, text string) {
		text = strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "is no longer", "")
		words[place] += len(strings.Fields(text))
		for _, phrase := range translatedPhrases.FindAllString(text, -1) {
			found[place] = append(found[place], file+": "+phrase)
		}
	}
	eachGoFile(t, func(file string, parsed *ast.File) {
		if strings.HasSuffix(file, "_test.go") || ast.IsGenerated(parsed) {
			return
		}
		for _, c := range parsed.Comments {
			count(path.Dir(file), file, c.Text())
		}
	})
	eachDocument(t, func(file, text string) {
		if file != "CHANGELOG.md" {
			count(file, file, text)
		}
	})
	for _, place := range slices.Sorted(maps.Keys(found)) {
		limit := max(1, maxPhrases*words[place]/10000)
		if n := len(found[place]); n > limit {
			t.Errorf("%s has %d translated phrases in %d words, %d are allowed:\n%s", place, n, words[place], limit, strings.Join(found[place], "\n"))
		}
	}
}

// translatedErrors matches phrases that are forbidden in program texts. Write "name is required",
// "not a number" and "already expired".
var translatedErrors = regexp.MustCompile(`\bit is (?:missing|over|no|none)\b|^(?:(?:[a-z_]+|%[sq]) )?is missing\b|\bis missing here\b|\bis none of\b|\bis no [a-z]|\bstands in\b|\bin place of\b|\bgoes on\b|\bmeanwhile\b|\bof its own\b`)

// noneOrEnded are idioms that translatedErrors would match.
var noneOrEnded = regexp.MustCompile(`(?i)\bthere is no\b|\bis no longer\b`)

// TestTextsOfTheProgramAreIdiomatic checks all strings except in tests and testkits.
func TestTextsOfTheProgramAreIdiomatic(t *testing.T) {
	t.Parallel()
	eachGoFile(t, func(file string, parsed *ast.File) {
		if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "internal/testkit/") || ast.IsGenerated(parsed) {
			return
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			if found := translatedErrors.FindString(noneOrEnded.ReplaceAllString(text, "")); found != "" {
				t.Errorf("%s has %q in %q", file, strings.TrimSpace(found), text)
			}
			return true
		})
	})
}
