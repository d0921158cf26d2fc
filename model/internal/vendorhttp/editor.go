package vendorhttp

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/agentruntime/agentruntime/model"
)

// editor changes the bodies of the requests of one call.
type editor struct {
	api     *API
	request *model.Request
	// rejected are the fields that the server rejected in this call.
	rejected []string
}

// editBody returns a body in the form that the server accepts.
func (d *editor) editBody(body []byte) []byte {
	learned := d.api.rejected.names.Load()
	if d.api.access.hasNoEdits() && learned == nil && len(d.rejected) == 0 && d.request.Edits == nil {
		return body
	}
	e := &bodyEdit{}
	d.api.access.Dialect.edit(e)
	if learned != nil {
		leaveOut(e, *learned)
		if name, ok := d.api.rejected.renamed.Load(d.request.Model); ok {
			leaveOut(e, []string{name.(string)})
		}
	}
	leaveOut(e, d.rejected)
	e.addEdits(d.api.access.Request.Merge(d.request.Edits))
	return e.appendEdited(make([]byte, 0, len(body)), body)
}

// concede drops the optional fields that a refusal blames. It reports whether that changes the
// body.
func (d *editor) concede(failure *model.Error, body []byte) bool {
	if failure.Status != http.StatusBadRequest && failure.Status != http.StatusUnprocessableEntity {
		return false
	}
	changed, sent := false, d.editBody(body)
	for i := range optionalFields {
		f := &optionalFields[i]
		if slices.Contains(d.rejected, f.name) || !f.isBlamed(failure) || f.renamed != "" && !hasMember(sent, f.name) {
			continue
		}
		d.rejected = append(d.rejected, f.name)
		if edited := d.editBody(body); bytes.Equal(edited, d.withoutLast(body)) {
			d.rejected = d.rejected[:len(d.rejected)-1]
			continue
		}
		changed = true
	}
	return changed
}

// withoutLast returns the edited body without the edit for the last rejected field.
func (d *editor) withoutLast(body []byte) []byte {
	last := d.rejected
	d.rejected = last[: len(last)-1 : len(last)-1]
	edited := d.editBody(body)
	d.rejected = last
	return edited
}

// remember stores the fields that an accepted request had to omit.
func (d *editor) remember(ctx context.Context) {
	if len(d.rejected) == 0 {
		return
	}
	for _, name := range d.api.rejected.learn(d.request.Model, d.rejected) {
		d.api.logger.WarnContext(ctx, "the model server rejects a field; requests leave it out from now on",
			"provider", d.api.failures.provider, "field", name, "renamed", cmp.Or(findOptional(name).renamed, "no"))
	}
}
