package agentruns

import (
	"encoding/base64"
	"net/url"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
)

// The types of attachments.
const (
	attachmentFile = "input_file"
	attachmentURL  = "input_file_url"
)

// attachment is a file in a user's message: its bytes, or a URL that the model's provider fetches.
// Sessions show files without their bytes.
type attachment struct {
	Type     string `json:"type" enum:"input_file,input_file_url"`
	MimeType string `json:"mimeType,omitempty"`
	Filename string `json:"filename,omitempty"`
	Data     string `json:"data,omitempty" jsonschema:"The bytes of an input_file, in base64. Sessions show its size instead."`
	URL      string `json:"url,omitempty" jsonschema:"The https address of an input_file_url, which the provider of the model fetches."`
	Size     int    `json:"size,omitempty"`
}

// toPart returns the attachment as a part of a message. path is its path in the request.
func (a *attachment) toPart(path string) (model.Part, error) {
	blob := &model.Blob{MediaType: a.MimeType, Name: a.Filename}
	if a.Size != 0 {
		return model.Part{}, newInvalid("%s.size is for answers: a request has the data", path)
	}
	switch a.Type {
	case attachmentFile:
		data, err := base64.StdEncoding.DecodeString(a.Data)
		switch {
		case a.MimeType == "":
			return model.Part{}, newInvalid("%s.mimeType is required", path)
		case err != nil || len(data) == 0:
			return model.Part{}, newInvalid("%s.data must be base64 of at least one byte", path)
		case a.URL != "":
			return model.Part{}, newInvalid("%s.url belongs to the type %s", path, attachmentURL)
		}
		blob.Data = data
	case attachmentURL:
		u, err := url.Parse(a.URL)
		if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
			return model.Part{}, newInvalid("%s.url must be an https address without credentials", path)
		}
		if a.Data != "" {
			return model.Part{}, newInvalid("%s.data belongs to the type %s", path, attachmentFile)
		}
		blob.URI = a.URL
	default:
		return model.Part{}, newInvalid("%s.type is %q; it must be %s or %s", path, clip.Text(a.Type), attachmentFile, attachmentURL)
	}
	return model.File(blob), nil
}

// attachmentsOf returns the files of a message without their bytes.
func attachmentsOf(m *model.Message) []attachment {
	var list []attachment
	for i := range m.Parts {
		b := m.Parts[i].Blob
		switch {
		case b == nil:
		case b.URI != "":
			list = append(list, attachment{Type: attachmentURL, MimeType: b.MediaType, Filename: b.Name, URL: b.URI})
		default:
			list = append(list, attachment{Type: attachmentFile, MimeType: b.MediaType, Filename: b.Name, Size: len(b.Data)})
		}
	}
	return list
}
