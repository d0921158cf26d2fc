package config

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/agentruntime/agentruntime/config/internal/secret"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// encodeJSON encodes a value as JSON: texts expanded, numbers exact, keys in order.
func (d *decoder) encodeJSON(n *yamltree.Node, p *place) (json.RawMessage, bool) {
	w := jsonWriter{decoder: d}
	ok := w.writeValue(n, p)
	return w.out.Bytes(), ok
}

type jsonWriter struct {
	decoder *decoder
	out     bytes.Buffer
	// keepsTexts leaves references in texts unchanged.
	keepsTexts bool
}

// writeValue appends a value. It continues after an error, so that all are reported.
func (w *jsonWriter) writeValue(n *yamltree.Node, p *place) bool {
	switch n.Kind {
	case yamltree.Null:
		w.out.WriteString("null")
	case yamltree.Bool:
		w.out.WriteString(lowerBool(n.Text))
	case yamltree.Int, yamltree.Float:
		v, err := parseNumber(n.Text)
		if err != nil {
			w.decoder.addDiagnostic(diag.InvalidValue, p, n, "%s: %v", p.label(), err)
			return false
		}
		w.out.WriteString(v.json)
	case yamltree.Sequence:
		return w.writeSequence(n, p)
	case yamltree.Mapping:
		return w.writeMapping(n, p)
	default:
		if w.keepsTexts {
			w.writeText(n.Text)
			return true
		}
		kind := ordinary
		if p != nil && p.index < 0 && secret.IsSecretName(p.key) {
			kind = named
			w.decoder.addSecret(n)
		}
		text, _, ok := w.decoder.expandText(kind, n, p)
		if !ok {
			return false
		}
		w.writeText(text)
	}
	return true
}

func (w *jsonWriter) writeSequence(n *yamltree.Node, p *place) bool {
	ok := true
	w.out.WriteByte('[')
	for i, child := range n.Children {
		if i > 0 {
			w.out.WriteByte(',')
		}
		ok = w.writeValue(child, p.elementPlace(i)) && ok
	}
	w.out.WriteByte(']')
	return ok
}

func (w *jsonWriter) writeMapping(n *yamltree.Node, p *place) bool {
	ok, first := true, true
	w.out.WriteByte('{')
	for key, value := range n.Pairs {
		w.beginMember(&first, key.Text)
		ok = w.writeValue(value, p.fieldPlace(key.Text, key)) && ok
	}
	w.out.WriteByte('}')
	return ok
}

// beginMember writes the name of an object's member, after a comma unless it is the first.
func (w *jsonWriter) beginMember(first *bool, name string) {
	if !*first {
		w.out.WriteByte(',')
	}
	*first = false
	w.writeText(name)
	w.out.WriteByte(':')
}

// writeText appends a quoted text. Nearly all texts need no escape.
func (w *jsonWriter) writeText(s string) {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= 0x7F {
			w.writeEscaped(s)
			return
		}
	}
	w.out.WriteByte('"')
	w.out.WriteString(s)
	w.out.WriteByte('"')
}

func (w *jsonWriter) writeEscaped(s string) {
	encoder := json.NewEncoder(&w.out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(s); err != nil { // a text always encodes
		fmt.Fprintf(&w.out, "%q", "")
		return
	}
	w.out.Truncate(w.out.Len() - 1) // the encoder ends with a newline
}

func lowerBool(text string) string {
	if text[0] == 't' || text[0] == 'T' {
		return "true"
	}
	return "false"
}

// addSecret hides a value where the text of its file is shown.
func (d *decoder) addSecret(n *yamltree.Node) {
	doc := d.file.documents[n.Document]
	doc.secrets = append(doc.secrets, n)
}

// hideSecrets hides the texts of an undecoded value: all of them if it is a secret, otherwise those
// in fields with secret names.
func (d *decoder) hideSecrets(n *yamltree.Node, isSecret bool) {
	switch n.Kind {
	case yamltree.Mapping:
		for key, value := range n.Pairs {
			d.hideSecrets(value, isSecret || secret.IsHiddenName(key.Text))
		}
	case yamltree.Sequence:
		for _, child := range n.Children {
			d.hideSecrets(child, isSecret)
		}
	case yamltree.String, yamltree.Int, yamltree.Float:
		if isSecret {
			d.addSecret(n)
			d.file.redactor.AddSecret(n.Text)
		} else if n.Kind == yamltree.String && redact.IsURL("url", n.Text) {
			d.hideURL(n)
		}
	}
}
