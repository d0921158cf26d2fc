package decode

import (
	"net/url"
	"strings"

	"github.com/agentruntime/agentruntime/config/internal/secret"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// AddSecret hides a value where the text of its file is shown.
func (d *Decoder) AddSecret(n *yamltree.Node) {
	doc := d.Tree.Documents[n.Document]
	doc.Secrets = append(doc.Secrets, n)
}

// HideSecrets hides the texts of an undecoded value: all of them if it is a secret, otherwise those
// in fields with secret names.
func (d *Decoder) HideSecrets(n *yamltree.Node, isSecret bool) {
	switch n.Kind {
	case yamltree.Mapping:
		for key, value := range n.Pairs {
			d.HideSecrets(value, isSecret || secret.IsHiddenName(key.Text))
		}
	case yamltree.Sequence:
		for _, child := range n.Children {
			d.HideSecrets(child, isSecret)
		}
	case yamltree.String, yamltree.Int, yamltree.Float:
		if isSecret {
			d.AddSecret(n)
			d.Tree.Redactor.AddSecret(n.Text)
		} else if n.Kind == yamltree.String && redact.IsURL("url", n.Text) {
			d.hideURL(n)
		}
	}
}

// hideURL hides the user and parameters of a URL in all output.
func (d *Decoder) hideURL(n *yamltree.Node) {
	for _, part := range redact.URLParts(n.Text) {
		if value := n.Text[part.From:part.To]; strings.IndexByte(value, '$') < 0 {
			d.hideURLPart(n.Text[part.Start:part.From], value)
		}
	}
}

// hideURLPart hides a part of a URL where it follows its name, and everywhere if it looks like a
// secret. Errors of HTTP clients contain URLs.
func (d *Decoder) hideURLPart(name, value string) {
	spellings := []string{value}
	if plain, err := url.QueryUnescape(value); err == nil {
		spellings = append(spellings, plain, url.QueryEscape(plain))
	}
	for _, spelling := range spellings {
		if name != "" {
			d.Tree.Redactor.AddValue(secret.Value{Text: name + spelling, Shown: name + secret.Shown})
		}
		if len(spelling) >= secret.MinRandom && secret.LooksRandom([]byte(spelling)) {
			d.Tree.Redactor.AddSecret(spelling)
		}
	}
}

// ReportPlainSecret warns about a secret in plain text, without showing it.
func (d *Decoder) ReportPlainSecret(n *yamltree.Node, p *tree.Place) {
	d.Tree.Noted.Of(n).Plain = p.Path()
	d.AddFinding(diag.New(diag.PlainSecret, p.Path(), "%s contains a secret in plain text", p.Label()).
		WithHint("write ${NAME} and set the variable, or ${file:path}"), n)
}
