package openapitest

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// description is an OpenAPI 3.1 document, prepared for checking requests and answers. It is safe
// for concurrent use.
type description struct {
	root       any
	operations []*operation
	// requests are the unchanged schemas, and answers those whose objects allow only described
	// fields: a description lets clients expect more, but a server must not send more.
	requests, answers *schemas
}

// operation is an operation of a description.
type operation struct {
	description *description
	method      string
	path        string
	names       []string
	matches     *regexp.Regexp
	// at is the JSON pointer of the operation, and shared that of the part common to all operations
	// of the path.
	at, shared string
}

// String returns the method and the path.
func (o *operation) String() string { return o.method + " " + o.path }

// loaded holds the descriptions of all servers in the tests, keyed by document content, because
// most are equal. The values are functions that read them once.
var loaded sync.Map

// seed hashes the keys of loaded: a test looks up its description at each request, so the keys must
// be fast.
var seed = maphash.MakeSeed()

// loadDescription reads a description, which must be valid with all of its examples.
func loadDescription(text []byte) (*description, error) {
	once, _ := loaded.LoadOrStore(maphash.Bytes(seed, text), sync.OnceValues(func() (*description, error) { return parseDescription(text) }))
	reading, _ := once.(func() (*description, error))
	return reading()
}

func parseDescription(text []byte) (*description, error) {
	if err := Validate(text); err != nil {
		return nil, err
	}
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	closed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	(&closer{closed}).closeSchemas(closed)
	d := &description{root: root}
	if d.requests, err = newSchemas("https://localhost/openapi.json", root); err != nil {
		return nil, err
	}
	if d.answers, err = newSchemas("https://localhost/closed.json", closed); err != nil {
		return nil, err
	}
	paths, _, _ := d.lookUp("/paths")
	for path, item := range fieldsOf(paths) {
		for method := range fieldsOf(item) {
			if method == "parameters" || method == "summary" || method == "description" {
				continue
			}
			o := &operation{description: d, method: strings.ToUpper(method), path: path}
			o.shared = "/paths/" + escapeKey(path)
			o.at = o.shared + "/" + method
			o.names, o.matches = parseTemplate(path)
			d.operations = append(d.operations, o)
		}
	}
	// The most specific path for a request comes first.
	slices.SortFunc(d.operations, func(a, b *operation) int { return countLiterals(b.path) - countLiterals(a.path) })
	return d, nil
}

var variable = regexp.MustCompile(`\{([^}]+)\}`)

// parseTemplate returns the names in a path template, and an expression that matches its paths.
func parseTemplate(path string) (names []string, matches *regexp.Regexp) {
	var text strings.Builder
	end := 0
	for _, at := range variable.FindAllStringSubmatchIndex(path, -1) {
		text.WriteString(regexp.QuoteMeta(path[end:at[0]]) + "([^/]+)")
		names = append(names, path[at[2]:at[3]])
		end = at[1]
	}
	text.WriteString(regexp.QuoteMeta(path[end:]))
	return names, regexp.MustCompile("^" + text.String() + "$")
}

// countLiterals counts the characters of a path outside variables.
func countLiterals(path string) int { return len(variable.ReplaceAllString(path, "")) }

// findOperation returns the operation of a request and the values in its path; nil if none is
// described.
func (d *description) findOperation(method, path string) (*operation, []string) {
	for _, o := range d.operations {
		if o.method != method {
			continue
		}
		if found := o.matches.FindStringSubmatch(path); found != nil {
			return o, found[1:]
		}
	}
	return nil, nil
}

// lookUp resolves a JSON pointer, following references, and returns the value and its actual
// location. found is false if nothing is there.
func (d *description) lookUp(at string) (value any, where string, found bool) {
	value, where = d.root, ""
	for key := range strings.SplitSeq(strings.TrimPrefix(at, "/"), "/") {
		next, ok := fieldsOf(value)[unescapeKey(key)]
		if list, isList := value.([]any); isList {
			if i, err := strconv.Atoi(key); err == nil && i < len(list) {
				next, ok = list[i], true
			}
		}
		if !ok {
			return nil, at, false
		}
		value, where = next, where+"/"+key
		if ref, is := fieldsOf(value)["$ref"].(string); is {
			if value, where, ok = d.lookUp(strings.TrimPrefix(ref, "#")); !ok {
				return nil, ref, false
			}
		}
	}
	return value, where, true
}

// schemaAt returns the schema that a JSON pointer points to.
func (d *description) schemaAt(of *schemas, at string) (*jsonschema.Schema, error) {
	_, where, found := d.lookUp(at)
	if !found {
		return nil, fmt.Errorf("there is no schema at %s", at)
	}
	return of.at(where)
}
