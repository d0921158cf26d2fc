package decode

import (
	"strings"

	"github.com/agentruntime/agentruntime/config/internal/record"
	"github.com/agentruntime/agentruntime/config/internal/secret"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// sensitivity classifies how secret a text field is.
type sensitivity uint8

const (
	// ordinary is a field about which nothing is known.
	ordinary sensitivity = iota
	// named is an untagged field with a secret-sounding name.
	named
	// parameter is the value of a query parameter.
	parameter
	// listed is an entry of a mapping that may hold secrets, such as headers.
	listed
	// credential is a field that holds a secret.
	credential
)

// sensitivityOf returns the sensitivity of a field. Mapping entries have no name.
func sensitivityOf(f *record.Field, p *tree.Place) sensitivity {
	switch {
	case f.Query && f.Name == "":
		return parameter
	case f.Secret && (f.Name != "" || p != nil && secret.IsCredentialName(p.Key)):
		return credential
	case f.Secret:
		return listed
	default:
		return ordinary
	}
}

// checkPlainSecret warns about a secret written in the file. The value is masked wherever the file
// is shown and is never printed.
func (d *Decoder) checkPlainSecret(kind sensitivity, n *yamltree.Node, p *tree.Place) {
	if kind < listed && redact.IsURL(p.Name(), n.Text) {
		d.checkURL(n, p)
	}
	text := []byte(n.Text)
	found := secret.FindCredentials(text)
	for _, at := range found {
		d.Tree.Redactor.AddSecret(string(text[at[0]:at[1]]))
	}
	literal := secret.LiteralOf(n.Text)
	switch {
	case len(found) > 0:
	case kind == credential && literal != "":
	case kind == named && len(literal) >= secret.MinRandom && secret.LooksRandom([]byte(literal)) && !strings.ContainsAny(literal, " \n"):
		d.Tree.Redactor.AddSecret(n.Text)
	case kind == parameter:
		d.checkParameter(n, p)
		return
	default:
		if kind >= listed && !secret.IsReference(n.Text) {
			d.Tree.Noted.Of(n).Plain = p.Path() // it is not stored, though it may be harmless
		}
		return
	}
	d.ReportPlainSecret(n, p)
}
