// Package expand replaces references to variables and files in the texts of a configuration.
package expand

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/config/internal/secret"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/yamltree"
	"github.com/agentruntime/agentruntime/spec"
)

const (
	// maxIncluded is the maximum size of a referenced file in bytes.
	maxIncluded = 1 << 20
	// MaxIncludedTotal limits the bytes read from all such files.
	MaxIncludedTotal = 256 << 20
)

// Expander replaces references in texts:
//
//	${NAME}           the variable NAME
//	${NAME:-default}  the same, or default when NAME is not set or empty
//	${file:path}      the contents of a file, without the newlines at its end
//	$$                a single $
//	${turn.NAME}      in the prompt of an agent alone: stays, for the turn
//	${tenant.NAME}    where Scopes has it: stays, for the tenant
//	${{ … }}          in a workflow alone: stays, for the run, and so does $${{
//
// A $ before anything else is literal. Replacements are not expanded again, and a default cannot
// contain references. A name consists of letters, digits and '_' and does not begin with a digit.
type Expander struct {
	// Lookup returns the value of a variable, and Files holds the files that were read.
	Lookup func(string) (string, bool)
	Files  map[string]Included
	// Looked are the variables that were looked up.
	Looked map[string]Variable
	// Left is the number of bytes still allowed in texts, Unread the number that may still be read
	// from files.
	Left, Unread int
	// Scopes are the scopes whose variables the text may reference: such references stay, and the
	// rest is quoted. Nil expands to plain text.
	Scopes []spec.Scope
	// KeepsRefs is set while a workflow is decoded.
	KeepsRefs bool
}

// Included is the content of a file, or the error of reading it.
type Included struct {
	Text string
	Err  error
}

// Expansion is the result of expanding a text.
type Expansion struct {
	Text string
	// Hidden are the values to hide.
	Hidden []secret.Value
	// Unset are the names of variables without a value.
	Unset []string
	// Err is the error in the text itself, and Meant is the variable that a
	// reference in the syntax of another system probably names.
	Err   error
	Meant string
}

// Expand expands a text from a file in the directory dir.
func (e *Expander) Expand(text, dir string) Expansion {
	if strings.IndexByte(text, '$') < 0 {
		return Expansion{Text: text}
	}
	var x Expansion
	var out strings.Builder
	var kept spec.Template // what comes before out
	for {
		i := strings.IndexByte(text, '$')
		if i < 0 || i+1 == len(text) {
			break
		}
		out.WriteString(text[:i])
		text = text[i:]
		if n := e.keptRef(text); n > 0 {
			out.WriteString(text[:n])
			text = text[n:]
			continue
		}
		switch text[1] {
		case '$':
			out.WriteByte('$')
			text = text[2:]
		case '{':
			end := strings.IndexByte(text, '}')
			if end < 0 {
				x.Err = fmt.Errorf("the reference %q lacks its closing }", clip.Text(text))
				return x
			}
			if r, ok := spec.ParseReference(text[2:end]); ok && slices.Contains(e.Scopes, r.Scope) {
				kept = (kept + spec.QuoteTemplate(out.String())).WithReference(r)
				out.Reset()
				text = text[end+1:]
				continue
			}
			value, err := e.expandReference(text[2:end], dir, &x)
			if err != nil {
				x.Err = err
				return x
			}
			if e.Left -= len(value); e.Left < 0 {
				x.Err = fmt.Errorf("the values of variables and files have more than %d bytes", yamltree.MaxExpanded)
				return x
			}
			out.WriteString(value)
			text = text[end+1:]
		default:
			out.WriteByte('$')
			text = text[1:]
		}
	}
	out.WriteString(text)
	if x.Text = out.String(); e.Scopes != nil {
		x.Text = string(kept + spec.QuoteTemplate(x.Text))
	}
	return x
}

// keptRef returns the length of the reference to keep at the start of a text, or 0. An unterminated
// reference extends to the end of the text and is reported where it is read.
func (e *Expander) keptRef(text string) int {
	const begin, end = "${{", "}}"
	switch {
	case !e.KeepsRefs:
		return 0
	case strings.HasPrefix(text, "$"+begin):
		return len("$" + begin)
	case !strings.HasPrefix(text, begin):
		return 0
	}
	if i := strings.Index(text, end); i > 0 {
		return i + len(end)
	}
	return len(text)
}

// places describes where a scope's variables may be used.
var places = map[spec.Scope]string{
	spec.TurnScope:   "the system_prompt of an agent",
	spec.TenantScope: "the system_prompt and the reasoning_effort of an agent, and in the url and headers of http and mcp tools, the query of http tools and the secrets of webhooks of workflows",
}

// expandReference returns the value of a reference, which is given without its braces.
func (e *Expander) expandReference(ref, dir string, x *Expansion) (string, error) {
	if scope, name, ok := strings.Cut(ref, "."); ok && places[spec.Scope(scope)] != "" {
		if slices.Contains(e.Scopes, spec.Scope(scope)) {
			return "", fmt.Errorf("%q is not a valid variable name; write ${%s.NAME}, and $$ for a plain $", clip.Text(name), scope)
		}
		return "", fmt.Errorf("${%s.%s} can stand in %s only; write $$ for a plain $", scope, clip.Text(name), places[spec.Scope(scope)])
	}
	if path, ok := strings.CutPrefix(ref, "file:"); ok {
		value, err := e.IncludeFile(path, dir)
		if err != nil {
			return "", err
		}
		value = strings.TrimRight(value, "\r\n")
		x.Hidden = append(x.Hidden, secret.Value{Text: value, Shown: "${" + ref + "}"})
		return value, nil
	}
	name, fallback, optional := strings.Cut(ref, ":-")
	if !spec.IsVariableName(name) {
		if m := bracedSpelling.FindStringSubmatch(ref); m != nil {
			x.Meant = m[1]
		}
		return "", fmt.Errorf("%q is not a valid variable name; write ${NAME}, ${NAME:-default} or ${file:path}, and $$ for a plain $", clip.Text(name))
	}
	if strings.Contains(fallback, "${") {
		return "", fmt.Errorf("the default of ${%s} contains a reference; it can only be a plain text", name)
	}
	value, set := e.Lookup(name)
	if e.Looked == nil {
		e.Looked = make(map[string]Variable)
	}
	e.Looked[name] = Variable{value, set}
	switch {
	case set && !utf8.ValidString(value):
		return "", fmt.Errorf("the value of the variable %s is not UTF-8 text", name)
	case set && (value != "" || !optional):
		x.Hidden = append(x.Hidden, secret.Value{Text: value, Shown: "${" + name + "}"})
		return value, nil
	case optional:
		return fallback, nil
	default:
		x.Unset = append(x.Unset, name)
		return "", nil
	}
}

// IncludeFile returns the text of a file. Its contents never appear in the error.
func (e *Expander) IncludeFile(path, dir string) (string, error) {
	if path == "" {
		return "", errors.New("the path of the file is required")
	}
	full := RelativeTo(dir, path)
	if known, ok := e.Files[full]; ok {
		return known.Text, known.Err
	}
	var read Included
	read.Text, read.Err = ReadText(full)
	if e.Unread -= len(read.Text); e.Unread < 0 {
		read = Included{Err: fmt.Errorf("the files have more than %d bytes together", MaxIncludedTotal)}
	}
	if read.Err != nil {
		read.Err = fmt.Errorf("the file %s cannot be read: %w", clip.Text(path), read.Err)
	}
	if e.Files == nil {
		e.Files = map[string]Included{}
	}
	e.Files[full] = read
	return read.Text, read.Err
}

// RelativeTo returns path relative to the directory dir.
func RelativeTo(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// ReadText reads a text file of limited size. The error does not repeat the
// path.
func ReadText(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fileErrorReason(err)
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	data, err := ReadLimited(path, maxIncluded+1)
	switch {
	case err != nil:
		return "", fileErrorReason(err)
	case len(data) > maxIncluded:
		return "", fmt.Errorf("it has more than %d bytes", maxIncluded)
	case !utf8.Valid(data):
		return "", errors.New("it is not UTF-8 text")
	case bytes.IndexByte(data, 0) >= 0:
		return "", errors.New("it contains the character U+0000, as text in UTF-16 does; it must be UTF-8 text")
	}
	return string(bytes.TrimPrefix(data, []byte("\ufeff"))), nil
}

// ReadLimited reads at most limit bytes of a file.
func ReadLimited(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, limit))
}

// fileErrorReason strips a file error of the details that its caller adds.
func fileErrorReason(err error) error {
	var number syscall.Errno
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("it does not exist")
	case errors.Is(err, fs.ErrPermission):
		return errors.New("permission denied")
	case errors.As(err, &number):
		return number
	default:
		var path *fs.PathError
		if errors.As(err, &path) {
			return path.Err
		}
		return err
	}
}

// Variable is a variable's value at lookup.
type Variable struct {
	Value string
	Set   bool
}

// bracedSpelling matches the inside of other systems' references: ${env:NAME}, ${env.NAME}, ${{
// secrets.NAME }}.
var bracedSpelling = regexp.MustCompile(`^\{?\s*(?:env|secrets|vars)[.:]\s*([A-Za-z_]\w*)\s*$`)

// WithoutKeptRefs returns a text without workflow references, which expansion keeps.
func WithoutKeptRefs(text string) string {
	e := Expander{KeepsRefs: true}
	var out strings.Builder
	for {
		i := strings.IndexByte(text, '$')
		if i < 0 {
			return out.String() + text
		}
		out.WriteString(text[:i])
		text = text[i:]
		n := e.keptRef(text)
		if n == 0 {
			n = 1
			if strings.HasPrefix(text, "$$") {
				n = 2
			}
			out.WriteString(text[:n])
		}
		text = text[n:]
	}
}
