package decode

import (
	"net/url"
	"strings"

	"github.com/agentruntime/agentruntime/config/internal/secret"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// checkURL hides the user and parameters of a URL. The URL is not stored if one of them may be a
// secret, and a warning names the parts that look like one.
func (d *Decoder) checkURL(n *yamltree.Node, p *tree.Place) {
	d.hideURL(n)
	if strings.HasPrefix(n.Text, "/") {
		d.AddSecret(n) // the source text does not show that it is a URL
	}
	isReported := false
	for _, part := range redact.URLParts(n.Text) {
		value := n.Text[part.From:part.To]
		switch {
		case secret.IsReference(value) || redact.IsHarmless(part.Name, value):
		case !isReported && secret.LooksSecret(part.Name, value):
			isReported = true
			d.ReportPlainSecret(n, p)
			fallthrough
		default:
			d.Tree.Noted.Of(n).PlainURL = p.Path()
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

// checkParameter treats the value of a query parameter like one in a URL.
func (d *Decoder) checkParameter(n *yamltree.Node, p *tree.Place) {
	if secret.IsReference(n.Text) {
		return
	}
	d.hideURLPart(p.Key+"=", n.Text)
	switch {
	case redact.IsHarmless(p.Key, n.Text):
		d.Tree.Noted.Of(n).Masked = p.Path()
	case secret.LooksSecret(p.Key, n.Text):
		d.ReportPlainSecret(n, p)
	default:
		d.Tree.Noted.Of(n).Plain = p.Path()
	}
}
