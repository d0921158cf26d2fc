package openapi

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

func TestTypesAndTheirTagsBecomeSchemas(t *testing.T) {
	type part struct {
		Text *string `json:"text" null:"true"`
	}
	type shared struct {
		At time.Time `json:"at"`
	}
	type level string
	type body struct {
		shared
		part
		Name  string          `json:"name" pattern:"^a" minLength:"1" jsonschema:"The name."`
		Count *int            `json:"count,omitempty" minimum:"1" default:"3"`
		Kind  string          `json:"kind,omitempty" enum:"1,2" const:"'1'"`
		Level level           `json:"level,omitempty" jsonschema:"How much."`
		Parts []part          `json:"parts,omitempty"`
		Big   *shared         `json:"big" null:"true"`
		Any   json.RawMessage `json:"any,omitempty" ref:"Any"`
		Data  []byte          `json:"data,omitempty"`
		none  int
		Never int `json:"-"`
	}
	api := API{
		Title: "Shop", Doc: "A shop.", Wildcards: map[string]string{"items/{id}": "The item.", "{shop}": "The shop."},
		Operations: map[string]OperationDoc{"put": {Summary: "Put", Body: body{none: 1}, Answers: map[int]Answer{200: {Doc: "Done.", Body: Ref("Any")}}}},
		Components: []Component{
			{Of: body{}, Name: "Body", More: Object{"not": Object{}}},
			{Of: shared{}, Name: "Shared"},
			{Of: level(""), Name: "Level", Schema: Object{"enum": []string{"low"}}},
			{Name: "Any", Doc: "Any value."},
		},
	}
	text := api.Generate([]Operation{{Pattern: "PUT /{shop}/items/{id}", ID: "put"}})
	want := Parse(`{"openapi":"3.1.0","info":{"title":"Shop","version":"1","description":"A shop."},
"paths":{"/{shop}/items/{id}":{
  "parameters":[{"name":"shop","in":"path","required":true,"description":"The shop.","schema":{"type":"string"}},{"name":"id","in":"path","required":true,"description":"The item.","schema":{"type":"string"}}],
  "put":{"operationId":"put","summary":"Put","requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Body"}}}},
    "responses":{"200":{"description":"Done.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Any"}}}}}}}},
"components":{"schemas":{
  "Any":{"description":"Any value."},
  "Level":{"enum":["low"]},
  "Shared":{"type":"object","required":["at"],"properties":{"at":{"type":"string","format":"date-time"}}},
  "Body":{"type":"object","not":{},"allOf":[{"$ref":"#/components/schemas/Shared"}],"required":["text","name","big"],"properties":{
    "text":{"type":["string","null"]},"name":{"type":"string","pattern":"^a","minLength":1,"description":"The name."},
    "count":{"type":"integer","minimum":1,"default":3},"kind":{"type":"string","enum":["1","2"],"const":"1"},
    "level":{"allOf":[{"$ref":"#/components/schemas/Level"}],"description":"How much."},
    "parts":{"type":"array","items":{"type":"object","required":["text"],"properties":{"text":{"type":["string","null"]}}}},
    "big":{"oneOf":[{"$ref":"#/components/schemas/Shared"},{"type":"null"}]},
    "any":{"$ref":"#/components/schemas/Any"},"data":{"type":"string","contentEncoding":"base64"}}}}}}`)
	if got := Parse(string(text)); !reflect.DeepEqual(got, want) {
		t.Errorf("the description is\n%s", text)
	}
	if _, err := Describe(text, []Route{{Pattern: "PUT /{shop}/items/{id}"}}, false); err != nil {
		t.Error(err)
	}
}

func TestABodyHasEachOfItsMediaTypes(t *testing.T) {
	api := API{Title: "Shop", Wildcards: map[string]string{"items/{id}": "The item."}, Operations: map[string]OperationDoc{"buy": {
		Summary: "Buy", Body: Object{"type": "object"}, Optional: true, Media: []string{"application/json", "application/x-www-form-urlencoded"},
		Answers: map[int]Answer{200: {Doc: "Bought.", Body: Object{"type": "string"}, Media: []string{"text/plain", "text/event-stream"}}},
	}}}
	text := api.Generate([]Operation{{Pattern: "POST /items/{id}:buy", ID: "buy"}})
	want := Parse(`{"/items/{id}:buy":{
  "parameters":[{"name":"id","in":"path","required":true,"description":"The item.","schema":{"type":"string"}}],
  "post":{"operationId":"buy","summary":"Buy",
    "requestBody":{"content":{"application/json":{"schema":{"type":"object"}},"application/x-www-form-urlencoded":{"schema":{"type":"object"}}}},
    "responses":{"200":{"description":"Bought.","content":{"text/plain":{"schema":{"type":"string"}},"text/event-stream":{"schema":{"type":"string"}}}}}}}}`)
	if got := Parse(string(text))["paths"]; !reflect.DeepEqual(got, any(want)) {
		t.Errorf("the paths are\n%s", text)
	}
}
