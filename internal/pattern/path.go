package pattern

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/gobwas/glob"
	"github.com/gobwas/glob/syntax"
)

// CompilePath compiles a glob for file paths: '*' and '?' do not match '/', and '**' does. It
// becomes a regular expression whose matching time is linear in the length of the path.
func CompilePath(source string) (*Regexp, error) {
	if len(source) > maxLength {
		return nil, fmt.Errorf("the pattern has %d bytes; at most %d are allowed", len(source), maxLength)
	}
	if _, err := glob.Compile(source, '/'); err != nil {
		return nil, syntaxError(err)
	}
	var out strings.Builder
	out.WriteString(`(?s)\A`)
	for lexer := syntax.NewLexer(source); ; {
		token := lexer.Next()
		switch token.Type {
		case syntax.EOF, syntax.Error:
			out.WriteString(`\z`)
			return CompileRegexp(out.String())
		case syntax.Any:
			out.WriteString(`[^/]*`)
		case syntax.Super:
			out.WriteString(`.*`)
		case syntax.Single:
			out.WriteString(`[^/]`)
		case syntax.TermsOpen:
			out.WriteString(`(?:`)
		case syntax.TermSeparator:
			out.WriteString(`|`)
		case syntax.TermsClose:
			out.WriteString(`)`)
		case syntax.RangeOpen:
			out.WriteString(classOf(lexer))
		default:
			out.WriteString(regexp.QuoteMeta(token.Data))
		}
	}
}

// classOf reads the rest of a character class and returns it in regular expression syntax.
func classOf(lexer *syntax.Lexer) string {
	var out strings.Builder
	out.WriteByte('[')
	for {
		token := lexer.Next()
		switch token.Type {
		case syntax.RangeClose, syntax.EOF, syntax.Error:
			out.WriteByte(']')
			return out.String()
		case syntax.Not:
			out.WriteByte('^')
		case syntax.RangeBetween:
			out.WriteByte('-')
		default:
			for _, r := range token.Data {
				fmt.Fprintf(&out, `\x{%x}`, r)
			}
		}
	}
}
