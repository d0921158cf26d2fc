package decode

import (
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
