package openapitest

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// content holds the described bodies at a place, by media type.
type content struct {
	description *description
	schemas     *schemas
	at          string
}

// schemaOf returns the schema of bodies with a media type.
func (c *content) schemaOf(media string) (*jsonschema.Schema, error) {
	for _, name := range []string{media, "*/*"} {
		if _, at, found := c.description.lookUp(c.at + "/content/" + escapeKey(name)); found {
			return c.schemas.at(at + "/schema")
		}
	}
	return nil, fmt.Errorf("the media type %q is not described", media)
}

// checkBody reports the problems of a body. A body is allowed only if one is described.
func (c *content) checkBody(media string, body []byte) error {
	if _, _, described := c.description.lookUp(c.at + "/content"); !described {
		if len(body) > 0 {
			return errors.New("no body is described")
		}
		return nil
	}
	schema, err := c.schemaOf(media)
	if err != nil {
		return err
	}
	switch {
	case media == "application/json" || strings.HasSuffix(media, "+json"):
		return validateJSON(schema, body)
	case media == "application/x-www-form-urlencoded":
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return err
		}
		fields := make(map[string]any, len(form))
		for name := range form {
			fields[name] = form.Get(name)
		}
		return schema.Validate(fields)
	default:
		return schema.Validate(string(body))
	}
}

// describedResponse returns the description of an answer and checks the answer's headers.
func (o *operation) describedResponse(resp *http.Response) (*content, error) {
	d := o.description
	_, at, found := d.lookUp(o.at + "/responses/" + strconv.Itoa(resp.StatusCode))
	if !found {
		return nil, fmt.Errorf("the status %d is not described", resp.StatusCode)
	}
	headers, where, _ := d.lookUp(at + "/headers")
	for name := range fieldsOf(headers) {
		header, here, _ := d.lookUp(where + "/" + escapeKey(name))
		values := resp.Header.Values(name)
		if len(values) == 0 && fieldsOf(header)["required"] == true {
			return nil, fmt.Errorf("the answer %d lacks the header %s", resp.StatusCode, name)
		}
		for _, value := range values {
			if err := d.checkText(here, value); err != nil {
				return nil, fmt.Errorf("the answer %d has the header %s: %w", resp.StatusCode, name, err)
			}
		}
	}
	return &content{d, d.answers, at}, nil
}

// checkText checks a text against the schema of a header or parameter. If the schema describes a
// list, the text is one of its elements.
func (d *description) checkText(at, text string) error {
	at += "/schema"
	if list, where, _ := d.lookUp(at); fieldsOf(list)["type"] == "array" {
		at = where + "/items"
	}
	schema, err := d.schemaAt(d.requests, at)
	if err != nil {
		return err
	}
	failed := schema.Validate(text)
	if failed == nil {
		return nil
	}
	var value any // a number or boolean, as written in JSON
	if json.Unmarshal([]byte(text), &value) == nil && schema.Validate(value) == nil {
		return nil
	}
	return failed
}

// checkRequest reports the parts of a request that its operation does not describe.
func (o *operation) checkRequest(req *http.Request, path []string, body []byte) error {
	d := o.description
	query, err := url.ParseQuery(req.URL.RawQuery)
	if err != nil {
		return err
	}
	for _, list := range []string{o.shared + "/parameters", o.at + "/parameters"} {
		parameters, where, _ := d.lookUp(list)
		all, _ := parameters.([]any)
		for i := range all {
			_, at, _ := d.lookUp(where + "/" + strconv.Itoa(i))
			if err := o.takesParameter(at, req.Header, path, query); err != nil {
				return err
			}
		}
	}
	for name := range query {
		return fmt.Errorf("the parameter %s is not described", name)
	}
	return o.takesBody(req, body)
}

// takesParameter removes a parameter from the query and reports its problems. Its description is
// at a JSON pointer.
func (o *operation) takesParameter(at string, header http.Header, path []string, query url.Values) error {
	d := o.description
	parameter, _, _ := d.lookUp(at)
	p := fieldsOf(parameter)
	name, _ := p["name"].(string)
	var values []string
	switch p["in"] {
	case "path":
		if i := slices.Index(o.names, name); i >= 0 {
			value, err := url.PathUnescape(path[i])
			if err != nil {
				return err
			}
			values = []string{value}
		}
	case "query":
		if schema, _, _ := d.lookUp(at + "/schema"); fieldsOf(schema)["type"] == "object" {
			clear(query) // as with parameters of any name
		}
		values = query[name]
		delete(query, name)
	case "header":
		values = header.Values(name)
	}
	if len(values) == 0 && p["required"] == true {
		return fmt.Errorf("the parameter %s is required", name)
	}
	for _, value := range values {
		if err := d.checkText(at, value); err != nil {
			return fmt.Errorf("the parameter %s: %w", name, err)
		}
	}
	return nil
}

func (o *operation) takesBody(req *http.Request, body []byte) error {
	d := o.description
	described, at, found := d.lookUp(o.at + "/requestBody")
	switch {
	case !found && len(body) == 0, found && len(body) == 0 && fieldsOf(described)["required"] != true:
		return nil
	case !found:
		return errors.New("no body is described")
	}
	media, _, err := mime.ParseMediaType(req.Header.Get("Content-Type"))
	if _, _, json := d.lookUp(at + "/content/" + escapeKey("application/json")); err != nil && json {
		media = "application/json" // the assumed type
	}
	return (&content{d, d.requests, at}).checkBody(media, body)
}
