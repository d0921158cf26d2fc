package config

import (
	"net/url"
	"strings"

	"github.com/agentruntime/agentruntime/config/internal/secret"
	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// checkURL hides the user and parameters of a URL. The URL is not stored if one of them may be a
// secret, and a warning names the parts that look like one.
func (d *decoder) checkURL(n *yamltree.Node, p *place) {
	d.hideURL(n)
	if strings.HasPrefix(n.Text, "/") {
		d.addSecret(n) // the source text does not show that it is a URL
	}
	isReported := false
	for _, part := range redact.URLParts(n.Text) {
		value := n.Text[part.From:part.To]
		switch {
		case secret.IsReference(value) || redact.IsHarmless(part.Name, value):
		case !isReported && secret.LooksSecret(part.Name, value):
			isReported = true
			d.reportPlainSecret(n, p)
			fallthrough
		default:
			d.tree.noted.of(n).plainURL = p.path()
		}
	}
}

// hideURL hides the user and parameters of a URL in all output.
func (d *decoder) hideURL(n *yamltree.Node) {
	for _, part := range redact.URLParts(n.Text) {
		if value := n.Text[part.From:part.To]; strings.IndexByte(value, '$') < 0 {
			d.hideURLPart(n.Text[part.Start:part.From], value)
		}
	}
}

// hideURLPart hides a part of a URL where it follows its name, and everywhere if it looks like a
// secret. Errors of HTTP clients contain URLs.
func (d *decoder) hideURLPart(name, value string) {
	spellings := []string{value}
	if plain, err := url.QueryUnescape(value); err == nil {
		spellings = append(spellings, plain, url.QueryEscape(plain))
	}
	for _, spelling := range spellings {
		if name != "" {
			d.tree.redactor.AddValue(secret.Value{Text: name + spelling, Shown: name + secret.Shown})
		}
		if len(spelling) >= secret.MinRandom && secret.LooksRandom([]byte(spelling)) {
			d.tree.redactor.AddSecret(spelling)
		}
	}
}

// checkParameter treats the value of a query parameter like one in a URL.
func (d *decoder) checkParameter(n *yamltree.Node, p *place) {
	if secret.IsReference(n.Text) {
		return
	}
	d.hideURLPart(p.key+"=", n.Text)
	switch {
	case redact.IsHarmless(p.key, n.Text):
		d.tree.noted.of(n).masked = p.path()
	case secret.LooksSecret(p.key, n.Text):
		d.reportPlainSecret(n, p)
	default:
		d.tree.noted.of(n).plain = p.path()
	}
}
