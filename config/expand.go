package config

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

	"github.com/agentruntime/agentruntime/config/internal/secret"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/yamltree"
	"github.com/agentruntime/agentruntime/spec"
)

const (
	// maxIncluded is the maximum size of a referenced file in bytes.
	maxIncluded = 1 << 20
	// maxIncludedTotal limits the bytes read from all such files.
	maxIncludedTotal = 256 << 20
)

// expander replaces references in texts:
//
//	${NAME}           the variable NAME
//	${NAME:-default}  the same, or default when NAME is not set or empty
//	${file:path}      the contents of a file, without the newlines at its end
//	$$                a single $
//	${turn.NAME}      in the prompt of an agent alone: stays, for the turn
//	${tenant.NAME}    where scopes has it: stays, for the tenant
//	${{ … }}          in a workflow alone: stays, for the run, and so does $${{
//
// A $ before anything else is literal. Replacements are not expanded again, and a default cannot
// contain references. A name consists of letters, digits and '_' and does not begin with a digit.
type expander struct {
	lookup func(string) (string, bool)
	files  map[string]included
	// looked are the variables that were looked up.
	looked map[string]variable
	// left is the number of bytes still allowed in texts, unread the number that may still be read
	// from files.
	left, unread int
	// scopes are the scopes whose variables the text may reference: such references stay, and the
	// rest is quoted. Nil expands to plain text.
	scopes []spec.Scope
	// keepsRefs is set while a workflow is decoded.
	keepsRefs bool
}

type included struct {
	text string
	err  error
}

// expansion is the result of expanding a text.
type expansion struct {
	text string
	// hidden are the values to hide.
	hidden []secret.Value
	// unset are the names of variables without a value.
	unset []string
	// err is the error in the text itself, and meant is the variable that a
	// reference in the syntax of another system probably names.
	err   error
	meant string
}

// expand expands a text from a file in the directory dir.
func (e *expander) expand(text, dir string) expansion {
	if strings.IndexByte(text, '$') < 0 {
		return expansion{text: text}
	}
	var x expansion
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
				x.err = fmt.Errorf("the reference %q lacks its closing }", clip.Text(text))
				return x
			}
			if r, ok := spec.ParseReference(text[2:end]); ok && slices.Contains(e.scopes, r.Scope) {
				kept = (kept + spec.QuoteTemplate(out.String())).WithReference(r)
				out.Reset()
				text = text[end+1:]
				continue
			}
			value, err := e.expandReference(text[2:end], dir, &x)
			if err != nil {
				x.err = err
				return x
			}
			if e.left -= len(value); e.left < 0 {
				x.err = fmt.Errorf("the values of variables and files have more than %d bytes", yamltree.MaxExpanded)
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
	if x.text = out.String(); e.scopes != nil {
		x.text = string(kept + spec.QuoteTemplate(x.text))
	}
	return x
}

// keptRef returns the length of the reference to keep at the start of a text, or 0. An unterminated
// reference extends to the end of the text and is reported where it is read.
func (e *expander) keptRef(text string) int {
	const begin, end = "${{", "}}"
	switch {
	case !e.keepsRefs:
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
func (e *expander) expandReference(ref, dir string, x *expansion) (string, error) {
	if scope, name, ok := strings.Cut(ref, "."); ok && places[spec.Scope(scope)] != "" {
		if slices.Contains(e.scopes, spec.Scope(scope)) {
			return "", fmt.Errorf("%q is not a valid variable name; write ${%s.NAME}, and $$ for a plain $", clip.Text(name), scope)
		}
		return "", fmt.Errorf("${%s.%s} can stand in %s only; write $$ for a plain $", scope, clip.Text(name), places[spec.Scope(scope)])
	}
	if path, ok := strings.CutPrefix(ref, "file:"); ok {
		value, err := e.includeFile(path, dir)
		if err != nil {
			return "", err
		}
		value = strings.TrimRight(value, "\r\n")
		x.hidden = append(x.hidden, secret.Value{Text: value, Shown: "${" + ref + "}"})
		return value, nil
	}
	name, fallback, optional := strings.Cut(ref, ":-")
	if !spec.IsVariableName(name) {
		if m := bracedSpelling.FindStringSubmatch(ref); m != nil {
			x.meant = m[1]
		}
		return "", fmt.Errorf("%q is not a valid variable name; write ${NAME}, ${NAME:-default} or ${file:path}, and $$ for a plain $", clip.Text(name))
	}
	if strings.Contains(fallback, "${") {
		return "", fmt.Errorf("the default of ${%s} contains a reference; it can only be a plain text", name)
	}
	value, set := e.lookup(name)
	if e.looked == nil {
		e.looked = make(map[string]variable)
	}
	e.looked[name] = variable{value, set}
	switch {
	case set && (value != "" || !optional):
		x.hidden = append(x.hidden, secret.Value{Text: value, Shown: "${" + name + "}"})
		return value, nil
	case optional:
		return fallback, nil
	default:
		x.unset = append(x.unset, name)
		return "", nil
	}
}

// includeFile returns the text of a file. Its contents never appear in the error.
func (e *expander) includeFile(path, dir string) (string, error) {
	if path == "" {
		return "", errors.New("the path of the file is required")
	}
	full := relativeTo(dir, path)
	if known, ok := e.files[full]; ok {
		return known.text, known.err
	}
	var read included
	read.text, read.err = readText(full)
	if e.unread -= len(read.text); e.unread < 0 {
		read = included{err: fmt.Errorf("the files have more than %d bytes together", maxIncludedTotal)}
	}
	if read.err != nil {
		read.err = fmt.Errorf("the file %s cannot be read: %w", clip.Text(path), read.err)
	}
	if e.files == nil {
		e.files = map[string]included{}
	}
	e.files[full] = read
	return read.text, read.err
}

// relativeTo returns path relative to the directory dir.
func relativeTo(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// readText reads a text file of limited size. The error does not repeat the
// path.
func readText(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fileErrorReason(err)
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	data, err := readLimited(path, maxIncluded+1)
	switch {
	case err != nil:
		return "", fileErrorReason(err)
	case len(data) > maxIncluded:
		return "", fmt.Errorf("it has more than %d bytes", maxIncluded)
	}
	return string(bytes.TrimPrefix(data, []byte("\ufeff"))), nil
}

// readLimited reads at most limit bytes of a file.
func readLimited(path string, limit int64) ([]byte, error) {
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

// variable is a variable's value at lookup.
type variable struct {
	value string
	set   bool
}

// bracedSpelling matches the inside of other systems' references: ${env:NAME}, ${env.NAME}, ${{
// secrets.NAME }}.
var bracedSpelling = regexp.MustCompile(`^\{?\s*(?:env|secrets|vars)[.:]\s*([A-Za-z_]\w*)\s*$`)

// withoutKeptRefs returns a text without workflow references, which expansion keeps.
func withoutKeptRefs(text string) string {
	e := expander{keepsRefs: true}
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
