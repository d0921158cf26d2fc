package decode

import (
	"encoding/json"

	"github.com/agentruntime/agentruntime/config/internal/secret"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// encodeJSON encodes a value as JSON: texts expanded, numbers exact, keys in order.
func (d *Decoder) encodeJSON(n *yamltree.Node, p *tree.Place) (json.RawMessage, bool) {
	w := jsonWriter{decoder: d}
	ok := w.writeValue(n, p)
	return w.Bytes(), ok
}

// EncodeAsWritten encodes a value as JSON; references in texts stay.
func (d *Decoder) EncodeAsWritten(n *yamltree.Node) json.RawMessage {
	w := jsonWriter{decoder: d, keepsTexts: true}
	w.writeValue(n, nil)
	return w.Bytes()
}

type jsonWriter struct {
	rawjson.Writer

	decoder *Decoder
	// keepsTexts leaves references in texts unchanged.
	keepsTexts bool
}

// writeValue appends a value. It continues after an error, so that all are reported.
func (w *jsonWriter) writeValue(n *yamltree.Node, p *tree.Place) bool {
	switch n.Kind {
	case yamltree.Null:
		w.WriteString("null")
	case yamltree.Bool:
		w.WriteString(LowerBool(n.Text))
	case yamltree.Int, yamltree.Float:
		v, err := ParseNumber(n.Text)
		if err != nil {
			w.decoder.AddDiagnostic(diag.InvalidValue, p, n, "%s: %v", p.Label(), err)
			return false
		}
		w.WriteString(string(v))
	case yamltree.Sequence:
		return w.writeSequence(n, p)
	case yamltree.Mapping:
		return w.writeMapping(n, p)
	default:
		if w.keepsTexts {
			w.WriteText(n.Text)
			return true
		}
		kind := ordinary
		if p != nil && p.Index < 0 && secret.IsSecretName(p.Key) {
			kind = named
			w.decoder.AddSecret(n)
		}
		text, _, ok := w.decoder.expandText(kind, n, p)
		if !ok {
			return false
		}
		w.WriteText(text)
	}
	return true
}

func (w *jsonWriter) writeSequence(n *yamltree.Node, p *tree.Place) bool {
	ok := true
	w.WriteByte('[')
	for i, child := range n.Children {
		if i > 0 {
			w.WriteByte(',')
		}
		ok = w.writeValue(child, p.Element(i)) && ok
	}
	w.WriteByte(']')
	return ok
}

func (w *jsonWriter) writeMapping(n *yamltree.Node, p *tree.Place) bool {
	ok := true
	w.WriteByte('{')
	for key, value := range n.Pairs {
		w.WriteName(key.Text)
		ok = w.writeValue(value, p.Field(key.Text, key)) && ok
	}
	w.WriteByte('}')
	return ok
}

// LowerBool returns a truth value as JSON writes it.
func LowerBool(text string) string {
	if text[0] == 't' || text[0] == 'T' {
		return "true"
	}
	return "false"
}
