package scripted

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/rawjson"
	"go.yaml.in/yaml/v4"
)

// textField reads any scalar as written.
func textField[T ~string](d *decoder, name string, into *T) field {
	return field{name, func(n *yaml.Node, path string) {
		if n.Kind != yaml.ScalarNode {
			d.reportFault(n, path, "%s must be a text, not %s", name, describeNode(n))
			return
		}
		*into = T(n.Value)
	}}
}

func numberField(d *decoder, name string, into *int) field {
	return field{name, func(n *yaml.Node, path string) {
		v, err := strconv.Atoi(n.Value)
		if err != nil || n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" {
			d.reportFault(n, path, "%s must be a whole number, not %s", name, describeNode(n))
			return
		}
		*into = v
	}}
}

func booleanField(d *decoder, name string, into *bool) field {
	return field{name, func(n *yaml.Node, path string) {
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" {
			d.reportFault(n, path, "%s must be true or false, not %s", name, describeNode(n))
			return
		}
		*into = strings.EqualFold(n.Value, "true")
	}}
}

func durationField(d *decoder, name string, into *time.Duration) field {
	return field{name, func(n *yaml.Node, path string) {
		v, err := time.ParseDuration(n.Value)
		if err != nil || n.Kind != yaml.ScalarNode {
			d.reportFault(n, path, "%s must be a duration such as 20ms or 1s, not %s", name, describeNode(n))
			return
		}
		*into = v
	}}
}

// appendJSON appends a value as JSON, preserving the order of mappings.
func (d *decoder) appendJSON(out []byte, n *yaml.Node, path string) []byte {
	switch n.Kind {
	case yaml.MappingNode:
		out = append(out, '{')
		seen := make(map[string]bool, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge" || seen[key.Value] {
				d.reportFault(key, path, "the key %q is not a text, or it is there twice", key.Value)
				continue
			}
			seen[key.Value] = true
			if i > 0 {
				out = append(out, ',')
			}
			out = append(appendText(out, key.Value), ':')
			out = d.appendJSON(out, n.Content[i+1], diag.Key(path, key.Value))
		}
		return append(out, '}')
	case yaml.SequenceNode:
		out = append(out, '[')
		for i, child := range n.Content {
			if i > 0 {
				out = append(out, ',')
			}
			out = d.appendJSON(out, child, diag.Index(path, i))
		}
		return append(out, ']')
	case yaml.ScalarNode:
		return d.appendScalar(out, n, path)
	default:
		d.reportFault(n, path, "a script may not contain %s", describeNode(n))
		return append(out, "null"...)
	}
}

func (d *decoder) appendScalar(out []byte, n *yaml.Node, path string) []byte {
	switch n.ShortTag() {
	case "!!null":
		return append(out, "null"...)
	case "!!bool":
		return strconv.AppendBool(out, strings.EqualFold(n.Value, "true"))
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			return append(out, n.Value...) // keeps all digits
		}
		var v float64
		if err := n.Decode(&v); err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
			d.reportFault(n, path, "%q is not a JSON number", n.Value)
			return append(out, '0')
		}
		return strconv.AppendFloat(out, v, 'f', -1, 64)
	default:
		return appendText(out, n.Value)
	}
}

func appendText(out []byte, text string) []byte {
	encoded, _ := rawjson.Marshal(text) // a text always encodes
	return append(out, encoded...)
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// describeNode names the kind of a node.
func describeNode(n *yaml.Node) string {
	const longest = 40
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	if isNull(n) {
		return "nothing"
	}
	value := []rune(n.Value)
	if len(value) > longest {
		value = append(value[:longest], '…')
	}
	return strconv.Quote(string(value))
}
