package permission

import (
	"errors"
	"fmt"
	stdpath "path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/pattern"
)

// pathPattern is a glob over file paths, which are cleaned before the comparison. It compares
// names: links are not followed, so a tool that must not leave a directory has to enforce that
// itself.
type pathPattern struct {
	glob pattern.Pattern
	// absolute marks patterns of absolute paths, anywhere patterns that start with '*' and match
	// the end of a path.
	absolute, anywhere bool
	// directory is the directory whose contents the pattern matches; "" for other patterns.
	directory string
}

// compilePath compiles the glob of a path matcher. It fails if no cleaned path could match.
func compilePath(source string) (*pathPattern, error) {
	glob, err := pattern.Compile(source)
	if err != nil {
		return nil, err
	}
	for i, segment := range strings.Split(source, "/") {
		switch {
		case segment == "" && i > 0:
			return nil, errors.New("a cleaned path has no empty part and no '/' at its end; to mean all below a directory, end in /*")
		case segment == "." || segment == "..":
			return nil, fmt.Errorf("a cleaned path has no part %q", segment)
		}
	}
	if strings.ContainsRune(`~{[?\\`, rune(source[0])) {
		return nil, errors.New("it must begin with '/', with '*' or with the name of a file or directory")
	}
	p := &pathPattern{glob: glob, absolute: source[0] == '/', anywhere: source[0] == '*'}
	if dir, below := strings.CutSuffix(strings.TrimRight(source, "*"), "/"); below && !strings.ContainsAny(dir, `*?[{\`) {
		p.directory = dir
		if dir == "" {
			p.directory = "/"
		}
	}
	return p, nil
}

// matchPath compares a path. It is undecidable for a path that leads out of the directory that it
// begins in, that a shell or another system would read differently, or that is relative when the
// pattern is absolute or vice versa.
func (p *pathPattern) matchPath(text string) truth {
	if text == "" || text[0] == '~' || !utf8.ValidString(text) || strings.ContainsFunc(text, oddInPath) {
		return unknown
	}
	clean := stdpath.Clean(text)
	if strings.HasPrefix(clean, "//") {
		clean = clean[1:]
	}
	outside := clean == ".." || strings.HasPrefix(clean, "../")
	if p.anywhere {
		return p.matchSuffix(clean)
	}
	switch {
	case outside, p.absolute != (clean[0] == '/'):
		return unknown
	case p.glob.Match(clean):
		return yes
	case clean == p.directory:
		return unknown // a tool that works on the directory works on its contents
	default:
		return no
	}
}

// matchSuffix matches the end of a path. Only relative paths are certain to be below the tool's
// directory, which is all that an allowing rule can cover.
func (p *pathPattern) matchSuffix(clean string) truth {
	relative := clean[0] != '/' && clean != ".." && !strings.HasPrefix(clean, "../")
	switch {
	case p.glob.Match(clean) && relative:
		return yes
	case p.glob.Match(clean), relative && p.glob.Match("/"+clean):
		return unknown
	default:
		return no
	}
}

// oddInPath reports a character that separates paths on other systems, or that a person would not
// see.
func oddInPath(r rune) bool { return r == '\\' || unicode.IsControl(r) }
