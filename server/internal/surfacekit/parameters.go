package surfacekit

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
)

// ReadRequest decodes a request into a struct: the JSON body of a POST, and the parameters. Fields
// with the tag query, header or path are parameters. A field with the tag body gets the whole body,
// with unknown fields ignored. The error is a *service.InvalidError or a read error.
func ReadRequest(r *http.Request, into any) error {
	list, body := parametersOf(reflect.ValueOf(into).Elem())
	if body.IsValid() {
		into = body.Addr().Interface()
	}
	if err := readParameters(r, list); err != nil || r.Method != http.MethodPost {
		return err
	}
	return server.ReadJSON(r, into, !body.IsValid())
}

// parameter is a field for a parameter of a request.
type parameter struct {
	place, name string
	tag         reflect.StructTag
	value       reflect.Value
}

// parametersOf returns the parameters in a struct and the structs in it, and the field for the body.
func parametersOf(v reflect.Value) (list []parameter, body reflect.Value) {
	for i := range v.NumField() {
		f, field := v.Type().Field(i), v.Field(i)
		if _, ok := f.Tag.Lookup("body"); ok {
			body = field
			continue
		}
		at := len(list)
		for _, place := range []string{"query", "header", "path"} {
			if name, ok := f.Tag.Lookup(place); ok {
				list = append(list, parameter{place, name, f.Tag, field})
			}
		}
		if at == len(list) && f.Type.Kind() == reflect.Struct {
			inner, whole := parametersOf(field)
			if list = append(list, inner...); whole.IsValid() {
				body = whole
			}
		}
	}
	return list, body
}

// readParameters reads parameters. A query is checked if any of them is in a query.
func readParameters(r *http.Request, list []parameter) error {
	p := problems{}
	values, err := url.ParseQuery(r.URL.RawQuery)
	known := map[string]bool{}
	for i := range list {
		if list[i].place == "query" {
			known[list[i].name] = list[i].isList()
		}
	}
	if len(known) > 0 {
		if err != nil {
			return &service.InvalidError{Field: "query", Problem: "cannot be read"}
		}
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if several, ok := known[name]; !ok || name == "" {
				p.note(clip.Text(name), "unknown parameter")
			} else if len(values[name]) > 1 && !several {
				p.note(name, "is given more than once")
			}
		}
	}
	for i := range list {
		one := &list[i]
		texts := values[one.name]
		switch one.place {
		case "header":
			texts = []string{r.Header.Get(one.name)}
		case "path":
			texts = []string{r.PathValue(one.name)}
		}
		if one.name != "" && len(texts) > 0 {
			p.read(one, one.value, texts)
		}
	}
	return p.err
}

// isList reports whether a parameter may be given more than once.
func (p *parameter) isList() bool {
	return p.value.Kind() == reflect.Slice || p.value.Kind() == reflect.Map
}

// problems records the first problem of a request.
type problems struct{ err error }

// read reads the texts of a parameter into a value.
func (p *problems) read(one *parameter, into reflect.Value, texts []string) {
	text := texts[0]
	switch v := into.Addr().Interface().(type) {
	case *map[string]string:
		*v = map[string]string{}
		for _, text := range texts {
			name, value, ok := strings.Cut(text, "=")
			if !ok || name == "" {
				p.note(one.name, "must be name=value")
			}
			(*v)[name] = value
		}
		return
	case *time.Time:
		var err error
		if *v, err = time.Parse(time.RFC3339, text); err != nil && text != "" {
			p.note(one.name, "must be a time such as 2026-01-02T15:04:05Z")
		}
		return
	case *time.Duration:
		const most = uint64(math.MaxInt64 / time.Millisecond)
		ms := p.readNumber(one, text)
		if ms > most {
			p.note(one.name, fmt.Sprintf("must be at most %d", most))
		}
		*v = time.Duration(min(ms, most)) * time.Millisecond //nolint:gosec // it is bounded
		return
	}
	switch into.Kind() {
	case reflect.Pointer:
		if text != "" {
			into.Set(reflect.New(into.Type().Elem()))
			p.read(one, into.Elem(), texts)
		}
	case reflect.Slice:
		into.Set(reflect.MakeSlice(into.Type(), len(texts), len(texts)))
		for i := range texts {
			p.read(one, into.Index(i), texts[i:i+1])
		}
		if most := one.tag.Get("maxItems"); most != "" && uint64(len(texts)) > parseTag(most) {
			p.note(one.name, fmt.Sprintf("may be given at most %s times", most))
		}
	case reflect.String:
		if words := one.words(); words != nil && text != "" && !slices.Contains(words, text) {
			p.note(one.name, fmt.Sprintf("%q must be one of %v", clip.Text(text), words))
		}
		into.SetString(text)
	case reflect.Bool:
		if into.SetBool(text == "true"); text != "" && text != "true" && text != "false" {
			p.note(one.name, fmt.Sprintf("must be true or false, not %q", clip.Text(text)))
		}
	case reflect.Int:
		n, least, most := p.readNumber(one, text), one.tag.Get("minimum"), one.tag.Get("maximum")
		if n < parseTag(least) || n > parseTag(most) {
			p.note(one.name, fmt.Sprintf("must be from %s to %s", least, most))
			return
		}
		into.SetInt(int64(n)) //nolint:gosec // it was checked
	case reflect.Uint64:
		into.SetUint(p.readNumber(one, text))
	case reflect.Float64:
		n, err := strconv.ParseFloat(cmp.Or(text, "0"), 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
			p.note(one.name, "must be a number, not "+strconv.Quote(clip.Text(text)))
		}
		if n < 0 && one.tag.Get("minimum") == "0" {
			p.note(one.name, "must not be negative")
		}
		into.SetFloat(n)
	}
}

// words returns the values of a parameter; nil allows any.
func (p *parameter) words() []string {
	if words := p.tag.Get("enum"); words != "" {
		return strings.Split(words, ",")
	}
	return nil
}

// parseTag returns the number in the value of a tag.
func parseTag(tag string) uint64 {
	n, _ := strconv.ParseUint(tag, 10, 64) // a tag is a number
	return n
}

// readNumber reads a number of 0 or more; 0 if it is empty.
func (p *problems) readNumber(one *parameter, text string) uint64 {
	n, err := strconv.ParseUint(cmp.Or(text, "0"), 10, 64)
	if err != nil {
		p.note(one.name, fmt.Sprintf("%q must be a number, 0 or more", clip.Text(text)))
	}
	return n
}

// QueryOf returns the query that ReadRequest decodes into a struct, without the zero values of its
// fields.
func QueryOf(from any) url.Values {
	query := url.Values{}
	list, _ := parametersOf(reflect.ValueOf(from))
	for i := range list {
		one := &list[i]
		if one.place != "query" || one.name == "" || one.value.IsZero() {
			continue
		}
		switch v := one.value.Interface().(type) {
		case map[string]string:
			for name, value := range v {
				query.Add(one.name, name+"="+value)
			}
			slices.Sort(query[one.name])
		case time.Time:
			query.Set(one.name, v.UTC().Format(time.RFC3339Nano))
		case time.Duration: // rounded up
			query.Set(one.name, strconv.FormatInt(int64((v+time.Millisecond-1)/time.Millisecond), 10))
		case int:
			if v > 0 {
				query.Set(one.name, strconv.FormatUint(min(uint64(v), parseTag(one.tag.Get("maximum"))), 10))
			}
		default:
			for _, value := range one.items() {
				query.Add(one.name, fmt.Sprint(value.Interface()))
			}
		}
	}
	return query
}

// items returns the values of a parameter: those of a list, or the only one.
func (p *parameter) items() []reflect.Value {
	switch p.value.Kind() {
	case reflect.Slice:
		list := make([]reflect.Value, p.value.Len())
		for i := range list {
			list[i] = p.value.Index(i)
		}
		return list
	case reflect.Pointer:
		return []reflect.Value{p.value.Elem()}
	default:
		return []reflect.Value{p.value}
	}
}

func (p *problems) note(field, problem string) {
	if p.err == nil {
		p.err = &service.InvalidError{Field: field, Problem: problem}
	}
}
