package openapi

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestAnyJSONIsDescribedAsAnyValue(t *testing.T) {
	type body struct {
		Data json.RawMessage            `json:"data"`
		More map[string]json.RawMessage `json:"more"`
		All  []json.RawMessage          `json:"all"`
	}
	text, err := json.Marshal((&generator{Surface: &Surface{}, schemas: Object{}}).schemaOf(reflect.TypeFor[body]()))
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Properties struct {
			Data any
			More struct{ AdditionalProperties any }
			All  struct{ Items any }
		}
	}
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]any{"data": s.Properties.Data, "more": s.Properties.More.AdditionalProperties, "all": s.Properties.All.Items} {
		if got != true {
			t.Errorf("%s is described by %v in %s", name, got, text)
		}
	}
}

// ItemView describes an item.
type ItemView struct {
	_ struct{} `additionalProperties:"true" jsonschema:"An item."`

	ID    string     `json:"id" maxLength:"9"`
	Parts []ItemView `json:"parts,omitempty" jsonschema:"Its parts."`
	Sizes []string   `json:"sizes" enum:"s,m"`
	Raw   []byte     `json:"raw,omitempty" items:"{'type':'object'}"`
}

func TestOperationsAreDescribedFromTypes(t *testing.T) {
	type item struct{ ID string }
	type request struct {
		Shop string            `json:"-" path:"shop" jsonschema:"The shop."`
		Key  string            `json:"-" header:"Key"`
		Name map[string]string `json:"-" query:"name" pattern:"=" jsonschema:"The names."`
		Item *item             `json:"-" body:""`
	}
	surface := &Surface{
		Title: "Shop", Package: reflect.TypeFor[ItemView]().PkgPath(), Failure: reflect.TypeFor[string](),
		Views: map[reflect.Type]reflect.Type{reflect.TypeFor[item](): reflect.TypeFor[ItemView]()},
	}
	text := Generate(surface, []Operation{{
		Pattern: "POST /{shop}", ID: "add", In: reflect.TypeFor[request](), Out: reflect.TypeFor[*item](),
		Doc: Doc{Summary: "Add", Result: "It is added.", Created: true, Failures: []int{409}},
	}})
	if _, err := Describe(text, []Route{{Pattern: "POST /{shop}"}}, true); err != nil {
		t.Error(err)
	}
	got, want := Parse(string(text)), Parse(`{"openapi":"3.1.0","info":{"title":"Shop","version":"1","description":""},
"paths":{"/{shop}":{"post":{"operationId":"add","summary":"Add","description":"","parameters":[
  {"name":"Key","in":"header","description":"","schema":{"type":"string"}},
  {"name":"name","in":"query","description":"The names.","schema":{"type":"array","items":{"type":"string","pattern":"="}}},
  {"name":"shop","in":"path","required":true,"description":"The shop.","schema":{"type":"string"}}],
 "requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Item"}}}},
 "responses":{"201":{"description":"It is added.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Item"}}}},"409":{"$ref":"#/components/responses/Error"}}}}},
"components":{"responses":{"Error":{"description":"The request was rejected.","content":{"text/plain":{"schema":{"type":"string"}}}}},
 "schemas":{"Item":{"type":"object","description":"An item.","additionalProperties":true,"required":["id","sizes"],"properties":{
  "id":{"type":"string","maxLength":9},"sizes":{"type":"array","items":{"type":"string","enum":["s","m"]}},"raw":{"type":"array","items":{"type":"object"}},
  "parts":{"type":"array","description":"Its parts.","items":{"$ref":"#/components/schemas/Item"}}}}}}}`)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the description is\n%s", text)
	}
}

// described is a record of an open surface.
type described struct {
	_    struct{}   `additionalProperties:"false" jsonschema:"A record."`
	Name string     `json:"name" optional:"true" null:"true"`
	Next *described `json:"next" null:"true"`
}

func TestOperationsAreDescribedInWords(t *testing.T) {
	type request struct {
		ID   string `json:"-" path:"id" jsonschema:"The id."`
		Kind string `json:"kind,omitempty" enum:",a"`
	}
	text := Generate(&Surface{Title: "Shop", Failure: reflect.TypeFor[string](), Package: reflect.TypeFor[described]().PkgPath(), Open: true}, []Operation{
		{Pattern: "POST /items/{id}", Streamed: true, ID: "put", In: reflect.TypeFor[request](), Out: reflect.TypeFor[described](), Doc: Doc{
			Summary: "Put", Result: "Done.", Created: true, Empty: "Nothing.", Header: "X-Next", HeaderAbout: "The next.", Failures: []int{400},
		}},
		{Pattern: "POST /never", ID: "never", Out: reflect.TypeFor[described](), Doc: Doc{Failures: []int{400}}},
	})
	want := Parse(`{"openapi":"3.1.0","info":{"title":"Shop","version":"1","description":""},"paths":{
"/never":{"post":{"operationId":"never","summary":"","description":"","responses":{"400":{"$ref":"#/components/responses/Error"}}}},
"/items/{id}":{"post":{"operationId":"put","summary":"Put","description":"",
  "parameters":[{"name":"id","in":"path","required":true,"description":"The id.","schema":{"type":"string"}}],
  "requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Request"}}}},
  "responses":{"204":{"description":"Nothing."},"400":{"$ref":"#/components/responses/Error"},"201":{"description":"Done.",
    "headers":{"X-Next":{"description":"The next.","schema":{"type":"string"}}},"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Described"}}}}}}}},
"components":{"responses":{"Error":{"description":"The request was rejected.","content":{"text/plain":{"schema":{"type":"string"}}}}},"schemas":{
  "Request":{"type":"object","properties":{"kind":{"type":"string","enum":["","a"]}}},
  "Described":{"type":"object","description":"A record.","additionalProperties":false,"required":["next"],"properties":{
    "name":{"type":["string","null"]},"next":{"oneOf":[{"$ref":"#/components/schemas/Described"},{"type":"null"}]}}}}}}`)
	if got := Parse(string(text)); !reflect.DeepEqual(got, want) {
		t.Errorf("the description is\n%s", text)
	}
}
