package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
)

// contentPart is a part of a message, of either protocol. Its fields depend on its type.
type contentPart struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"`
	// Refusal is the text of a refusal.
	Refusal string `json:"refusal,omitempty"`
	// ImageURL is an object in chat completions and a text in responses.
	ImageURL   json.RawMessage `json:"image_url,omitempty"`
	InputAudio *struct {
		Data   string `json:"data"`
		Format string `json:"format"`
	} `json:"input_audio,omitempty"`
	File     *filePart `json:"file,omitempty"`
	FileID   string    `json:"file_id,omitempty"`
	FileData string    `json:"file_data,omitempty"`
	FileURL  string    `json:"file_url,omitempty"`
	Filename string    `json:"filename,omitempty"`
}

type filePart struct {
	FileID   string `json:"file_id,omitempty"`
	FileData string `json:"file_data,omitempty"`
	Filename string `json:"filename,omitempty"`
}

// readContent returns the parts of a message, whose content is a text or a list.
func readContent(raw json.RawMessage, path string) ([]model.Part, error) {
	var text string
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if json.Unmarshal(raw, &text) == nil {
		return []model.Part{model.Text(text)}, nil
	}
	var list []contentPart
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, badField(path, "%s must be a string or a list of content parts", path)
	}
	parts := make([]model.Part, 0, len(list))
	for i := range list {
		part, err := list[i].toModel(fmt.Sprintf("%s[%d]", path, i))
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

func (p *contentPart) toModel(path string) (model.Part, error) {
	switch p.Type {
	case "text", "input_text", "output_text":
		return model.Text(p.Text), nil
	case "refusal":
		return model.Text(p.Refusal), nil
	case "image_url", "input_image":
		address := p.imageAddress()
		if address == "" {
			return model.Part{}, badField(path, "%s needs image_url; uploaded files are not supported", path)
		}
		return blobPart(model.PartImage, address, "", path)
	case "input_audio":
		if p.InputAudio == nil {
			return model.Part{}, badField(path, "%s needs input_audio", path)
		}
		return blobPart(model.PartFile, "data:audio/"+p.InputAudio.Format+";base64,"+p.InputAudio.Data, "", path)
	case "file", "input_file":
		f := filePart{p.FileID, p.FileData, p.Filename}
		if p.File != nil {
			f = *p.File
		}
		switch {
		case p.FileURL != "":
			return blobPart(model.PartFile, p.FileURL, f.Filename, path)
		case f.FileData == "":
			return model.Part{}, badField(path, "%s needs file_data or file_url; uploaded files are not supported", path)
		case !strings.HasPrefix(f.FileData, "data:"):
			f.FileData = "data:;base64," + f.FileData
		}
		return blobPart(model.PartFile, f.FileData, f.Filename, path)
	default:
		return model.Part{}, badField(path, "%s: content parts of type %q are not supported", path, clip.Text(p.Type))
	}
}

func (p *contentPart) imageAddress() string {
	var address string
	if json.Unmarshal(p.ImageURL, &address) == nil {
		return address
	}
	var image struct {
		URL string `json:"url"`
	}
	_ = json.Unmarshal(p.ImageURL, &image) // the address is empty then
	return image.URL
}

// blobPart returns an image or a file with a data URL or an address of the web.
func blobPart(kind model.PartType, address, name, path string) (model.Part, error) {
	head, encoded, isData := strings.Cut(address, ",")
	if !isData || !strings.HasPrefix(head, "data:") {
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return model.Part{}, badField(path, "%s must have a data URL or an http or https URL", path)
		}
		return model.Part{Type: kind, Blob: &model.Blob{URI: address, Name: name}}, nil
	}
	media, isBase64 := strings.CutSuffix(strings.TrimPrefix(head, "data:"), ";base64")
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || !isBase64 || len(data) == 0 {
		return model.Part{}, badField(path, "%s must have data in base64", path)
	}
	if media == "" {
		media, _, _ = strings.Cut(http.DetectContentType(data), ";")
	}
	return model.Part{Type: kind, Blob: &model.Blob{MediaType: media, Data: data, Name: name}}, nil
}
